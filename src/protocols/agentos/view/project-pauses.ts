/** Projects pauses and continuations. */
import type { Question, LoggedEventOf } from '../../../core/model/event.ts'
import { endReasoning } from './project-content.ts'
import {
  factsOf,
  type Gate,
  gateOf,
  inputFields,
  requirement,
  stepRequirement,
  waitingTool,
} from '../wire/requirements.ts'
import type { FrameWriter } from './frame-writer.ts'
import { rootOf, type State, type Step } from './state.ts'
import { families } from '../wire/families.ts'
import { contentOf } from './content.ts'
import { forgetEnd, relayedEnd, withoutFrames } from './relay.ts'
import { valuesOf } from './persistent-list.ts'

export function runPaused(writer: FrameWriter, { data, time }: LoggedEventOf<'run.paused'>): void {
  const known = new Set(writer.state.questions.map(({ id }) => id))
  writer.state = { ...writer.state, status: 'paused', questions: data.questions, askedAt: time }
  const root = withoutFrames(writer, () => endReasoning(writer, rootOf(writer.state)))
  const relayed = relayedEnd(writer.state, 'paused')
  forgetEnd(writer)
  const { state } = writer
  // Answers refer to this server's questions, which contain the upstream's tool calls.
  if (relayed !== undefined && root.kind !== 'workflow') {
    return writer.relay(families[root.kind].events.paused, { ...relayed, ...requirementsOf(state) }, true)
  }
  if (root.kind === 'workflow') {
    for (const question of data.questions) if (!known.has(question.id)) gatePaused(writer, question)
    return writer.write(root, families.workflow.events.paused, () => workflowPause(state), true)
  }
  writer.writeShared(root, 'RunContentCompleted')
  // Built lazily: it contains the whole content, which a run with many questions would copy each time.
  writer.write(root, families[root.kind].events.paused, () => pauseOf(state), true)
}

interface Requirements {
  readonly tools: readonly object[]
  readonly requirements: readonly object[]
}

/** Requirements of a paused agent or team, and its content so far. */
export function pauseOf(state: State): Requirements & { readonly content: unknown } {
  return { ...requirementsOf(state), content: contentOf(state, rootOf(state)) ?? '' }
}

function requirementsOf({ questions, speakers, askedAt }: State): Requirements {
  return {
    tools: questions.map((question) => waitingTool(question, askedAt)),
    requirements: questions.map((question) =>
      requirement(question, askedAt, question.actor === undefined ? undefined : speakers.get(question.actor.run)),
    ),
  }
}

/** Requirements of a paused workflow. */
export function workflowPause(state: State): object {
  const root = rootOf(state)
  const gates = state.questions.map((question) => gateOf(state, question))
  const [first] = gates
  return {
    status: 'PAUSED',
    paused_step_index: first?.step.index ?? null,
    paused_step_name: first?.step.name ?? null,
    pause_kind: first?.executor === undefined ? 'step' : 'executor',
    step_requirements: gates.map((gate) => stepRequirement(gate, state.askedAt)),
    step_results: valuesOf(root.stepOutputs),
    content: contentOf(state, root) ?? null,
  }
}

function gatePaused(writer: FrameWriter, question: Question): void {
  const { askedAt } = writer.state
  const gate = gateOf(writer.state, question)
  const step = stepOf(writer.state, gate)
  const { executor } = gate
  if (executor !== undefined) {
    writer.write(executor, families[executor.kind].events.paused, {
      tools: [waitingTool(question, askedAt)],
      requirements: [requirement(question, askedAt, undefined)],
    })
    return writer.writeStep(step, 'StepExecutorPaused', {
      ...executorOf(gate),
      executor_requirements: [requirement(question, askedAt, executor)],
    })
  }
  const facts = factsOf(question)
  if (question.kind === 'review')
    return writer.writeStep(step, 'StepOutputReview', {
      output_review_message: question.prompt,
      requires_output_review: true,
    })
  if (question.kind === 'choice')
    return writer.writeStep(step, 'RouterPaused', {
      available_choices: facts['choices'] ?? [],
      user_input_message: question.prompt,
      allow_multiple_selections: facts['multiple'] === true,
    })
  const confirms = question.kind === 'approval'
  writer.writeStep(step, 'StepPaused', {
    requires_confirmation: confirms,
    ...(confirms && { confirmation_message: question.prompt }),
    requires_user_input: !confirms,
    ...(!confirms && { user_input_message: question.prompt, user_input_schema: inputFields(question) }),
  })
}

function executorOf({ executor }: Gate): object {
  return {
    executor_id: executor?.component ?? null,
    executor_name: executor?.name ?? null,
    executor_run_id: executor?.run ?? null,
    executor_type: executor?.kind ?? null,
  }
}

/** A step that asks before it starts is not in the log yet. */
function stepOf(state: State, { step }: Gate): Step {
  const known = state.steps.get(step.id)
  if (known !== undefined) return known
  const { id, name, index } = step
  return {
    id,
    name,
    index,
    kind: 'function',
    workflow: state.run,
    details: {},
    open: false,
    results: undefined,
    startIndex: 0,
  }
}

export function runResumed(writer: FrameWriter, { index }: LoggedEventOf<'run.resumed'>): void {
  const asked = writer.state.questions
  writer.state = { ...writer.state, status: 'running', questions: [], resumedAt: index }
  const root = rootOf(writer.state)
  if (root.kind !== 'workflow') return writer.writeShared(root, 'RunContinued')
  for (const question of asked) {
    const gate = gateOf(writer.state, question)
    const step = stepOf(writer.state, gate)
    if (gate.executor === undefined) writer.writeStep(step, 'StepContinued')
    else writer.writeStep(step, 'StepExecutorContinued', executorOf(gate))
  }
}
