/** Projects workflow steps and blocks. */
import type { StepKind, LoggedEventOf } from '../../../core/model/event.ts'
import { textOf } from './content.ts'
import type { FrameWriter } from './frame-writer.ts'
import { contentType, type StepOutput } from '../wire/shapes.ts'
import { rootOf, type Speaker, speakerOf, type State, type Step } from './state.ts'
import { appendTo, valuesOf } from './persistent-list.ts'

/** AgentOS events of a step kind, and their extra fields. */
interface Form {
  readonly type: string
  readonly started: string
  readonly completed: string
  onStart(step: Step): object
  onEnd(step: Step, output: unknown): object
}

const plain = { onStart: () => ({}), onEnd: () => ({}) }
const single: Omit<Form, 'type'> = { started: 'StepStarted', completed: 'StepCompleted', ...plain }

const forms: Readonly<Record<StepKind, Form>> = {
  function: { type: 'Function', ...single },
  model: { type: 'Step', ...single },
  agent: { type: 'Step', ...single },
  team: { type: 'Step', ...single },
  workflow: { type: 'Workflow', ...single },
  sequence: {
    type: 'Steps',
    started: 'StepsExecutionStarted',
    completed: 'StepsExecutionCompleted',
    onStart: ({ details }) => ({ steps_count: details['count'] ?? null }),
    onEnd: (step) => ({ steps_count: step.details['count'] ?? null, ...executedSteps(step) }),
  },
  parallel: {
    type: 'Parallel',
    started: 'ParallelExecutionStarted',
    completed: 'ParallelExecutionCompleted',
    onStart: ({ details }) => ({ parallel_step_count: details['count'] ?? null }),
    onEnd: (step) => ({ parallel_step_count: step.details['count'] ?? null, step_results: valuesOf(step.results) }),
  },
  loop: {
    type: 'Loop',
    started: 'LoopExecutionStarted',
    completed: 'LoopExecutionCompleted',
    onStart: ({ details }) => ({ max_iterations: details['maxIterations'] ?? null }),
    onEnd: ({ details, results }) => ({
      total_iterations: valuesOf(results).length,
      max_iterations: details['maxIterations'] ?? null,
      all_results: valuesOf(results).map(({ steps = [] }) => steps),
    }),
  },
  condition: {
    type: 'Condition',
    started: 'ConditionExecutionStarted',
    completed: 'ConditionExecutionCompleted',
    onStart: ({ details }) => ({ condition_result: details['result'] ?? null }),
    onEnd: (step) => ({
      condition_result: step.details['result'] ?? null,
      branch: branchOf(step.details['branch']),
      ...executedSteps(step),
    }),
  },
  router: {
    type: 'Router',
    started: 'RouterExecutionStarted',
    completed: 'RouterExecutionCompleted',
    onStart: ({ details }) => ({ selected_steps: details['selected'] ?? [] }),
    onEnd: (step) => ({ selected_steps: step.details['selected'] ?? [], ...executedSteps(step) }),
  },
}

/** A loop iteration is a numbered sequence. */
const iteration: Form = {
  type: 'Steps',
  started: 'LoopIterationStarted',
  completed: 'LoopIterationCompleted',
  onStart: ({ details }) => ({ iteration: details['iteration'], max_iterations: details['maxIterations'] ?? null }),
  onEnd: (step, output) => ({
    iteration: step.details['iteration'],
    max_iterations: step.details['maxIterations'] ?? null,
    iteration_results: valuesOf(step.results),
    should_continue: (output as { done?: unknown } | null)?.done === false,
  }),
}

function formOf({ kind, details }: Step): Form {
  return details['iteration'] === undefined ? forms[kind] : iteration
}

function branchOf(branch: unknown): string | null {
  return branch === 'do' ? 'if' : branch === 'else' ? 'else' : null
}

function executedSteps({ results }: Step): object {
  return { executed_steps: valuesOf(results).length, step_results: valuesOf(results) }
}

/** AgentOS has no events for steps of agents. Decisions of blocks and internal steps only serve recovery. */
function isShown(speaker: Speaker, details: unknown): boolean {
  const { decides, internal } = (details ?? {}) as { decides?: unknown; internal?: unknown }
  return speaker.kind === 'workflow' && decides === undefined && internal !== true
}

export function stepStarted(writer: FrameWriter, { data }: LoggedEventOf<'step.started'>): void {
  const speaker = speakerOf(writer.state, writer.event.actor)
  if (!isShown(speaker, data.details)) return
  const details = (data.details ?? {}) as Readonly<Record<string, unknown>>
  const parent = data.parent === undefined ? undefined : writer.state.steps.get(data.parent)
  const given = details['index']
  const position = typeof given === 'number' ? given : siblings(writer.state, speaker.run, data.parent)
  const step: Step = {
    id: data.step,
    name: data.name,
    kind: data.kind ?? 'function',
    workflow: speaker.run,
    ...(data.parent !== undefined && { parent: data.parent }),
    index: parent?.kind === 'parallel' ? [parent.index, position].flat() : position,
    details,
    open: true,
    results: undefined,
    startIndex: writer.event.index,
  }
  writer.keepStep(step)
  const form = formOf(step)
  writer.writeStep(step, form.started, form.onStart(step))
}

function siblings({ steps }: State, workflow: string, parent: string | undefined): number {
  return [...steps.values()].filter((step) => step.workflow === workflow && step.parent === parent).length
}

export function stepCompleted(writer: FrameWriter, { data }: LoggedEventOf<'step.completed'>): void {
  const step = writer.state.steps.get(data.step)
  if (step === undefined) return
  const form = formOf(step)
  const output = stepOutput(writer.state, step, contentOf(writer.state, step, data.output))
  file(writer, step, output)
  if (form.started !== single.started) return writer.writeStep(step, form.completed, form.onEnd(step, data.output))
  if (step.kind === 'function' && step.executor === undefined)
    writer.writeStep(step, 'StepOutput', { step_output: output })
  const { content } = output
  writer.writeStep(step, form.completed, { content, content_type: contentType(content), step_response: output })
}

/** A step that only called a component has its content. */
function contentOf({ speakers }: State, step: Step, output: unknown): unknown {
  if (output !== undefined) return step.details['iteration'] === undefined ? output : outputOfIteration(output)
  const executor = speakers.get(step.executor ?? '')
  return executor === undefined ? null : (executor.outcome?.output ?? (textOf(executor) || null))
}

function outputOfIteration(output: unknown): unknown {
  return (output as { output?: unknown } | null)?.output ?? null
}

export function stepFailed(writer: FrameWriter, { data }: LoggedEventOf<'step.failed'>): void {
  const step = writer.state.steps.get(data.step)
  if (step === undefined) return
  file(writer, step, stepOutput(writer.state, step, null, data.error.message))
  writer.writeStep(step, 'StepError', { error: data.error.message, error_type: data.error.code })
}

export function stepSkipped(writer: FrameWriter, { data }: LoggedEventOf<'step.skipped'>): void {
  const { step, name, reason } = data
  const speaker = speakerOf(writer.state, writer.event.actor)
  if (speaker.kind !== 'workflow') return
  writer.custom(speaker, 'step.skipped', { reason: reason ?? null }, { step_id: step, step_name: name })
}

/** Adds a result to the enclosing step, or to the workflow. */
function file(writer: FrameWriter, step: Step, output: StepOutput): void {
  writer.keepStep({ ...step, open: false })
  const around = step.parent === undefined ? undefined : writer.state.steps.get(step.parent)
  const { index } = writer.event
  if (around !== undefined) return writer.keepStep({ ...around, results: appendTo(around.results, index, output) })
  const workflow = writer.state.speakers.get(step.workflow) ?? rootOf(writer.state)
  writer.keep({ ...workflow, stepOutputs: appendTo(workflow.stepOutputs, index, output) })
}

function stepOutput(state: State, step: Step, content: unknown, error?: string): StepOutput {
  const executor = step.executor === undefined ? undefined : state.speakers.get(step.executor)
  const inner = valuesOf(step.results)
  return {
    content,
    step_name: step.name,
    step_id: step.id,
    step_type: formOf(step).type,
    executor_type: executor?.kind ?? (step.kind === 'function' ? 'function' : null),
    executor_name: executor?.name ?? (step.kind === 'function' ? step.name : null),
    step_run_id: executor?.run ?? null,
    images: null,
    videos: null,
    audio: null,
    files: null,
    metrics: null,
    success: error === undefined,
    error: error ?? null,
    stop: false,
    is_paused: false,
    ...(inner.length > 0 && { steps: inner }),
  }
}
