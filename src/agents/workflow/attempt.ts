/** One try of a step: its executor is run, within its time, and what came of it is recorded. */
import { type Component, type RunContext, type StepDetails, WorkFailure } from '../../core/ports/component.ts'
import { startTimer } from '../../core/runtime/timer.ts'
import type { FlowFacts, StepContext, StepFunction, StepNode } from './definition.ts'
import { orAborted, type WorkflowPosition } from './position.ts'

/** What a step is told besides its input, when it is tried. */
export interface AttemptInput {
  readonly answer?: unknown
  readonly feedback?: string
}

export interface Attempt {
  readonly node: StepNode
  readonly input: unknown
  readonly told: AttemptInput
  /** Key space of the try. */
  readonly own: RunContext
  /** What it emitted is withdrawn if it fails. */
  readonly withdraw: boolean
}

/** What came of a try. A failure is `fresh` when it happened now, and not in an earlier drive of the run. */
export type AttemptResult = { readonly output: unknown } | { readonly thrown: unknown; readonly fresh: boolean }

export async function attempt(position: WorkflowPosition, about: StepDetails, given: Attempt): Promise<AttemptResult> {
  const { work, recall } = executorOf(position, given)
  let fresh = false
  const once = (): Promise<unknown> => {
    fresh = true
    return work()
  }
  try {
    return { output: await position.context.step(given.node.name, once, { ...about, revisit: recall }) }
  } catch (thrown) {
    return { thrown, fresh }
  }
}

interface Executor {
  readonly work: () => Promise<unknown>
  /** Where the log has the outcome: what the call emitted is told already. */
  readonly recall: () => Promise<unknown>
}

function executorOf(position: WorkflowPosition, asked: Attempt): Executor {
  const { node, input, withdraw } = asked
  const { run, name, timeoutMs } = node
  const component = typeof run !== 'function' ? run : isGenerator(run) ? componentOf(position, run, asked) : undefined
  if (component === undefined)
    return { work: () => callFunction(position, run as StepFunction<unknown, unknown>, asked), recall: async () => {} }
  const given = component === run ? inputOf(position, asked) : input
  const options = {
    name,
    signal: position.signal,
    withdrawFailure: withdraw,
    ...(timeoutMs !== undefined && { timeoutMs }),
  }
  const call = (): Promise<unknown> => position.context.call(component, given, options)
  return { work: call, recall: call }
}

const AsyncGeneratorFunction: unknown = Object.getPrototypeOf(async function* () {})

function isGenerator(run: StepFunction<unknown, unknown>): boolean {
  return Object.getPrototypeOf(run) === AsyncGeneratorFunction
}

/** A generator function as a component, so that what it yields has an actor of its own. */
function componentOf(
  { outputs }: WorkflowPosition,
  run: StepFunction<unknown, unknown>,
  { node, told }: Attempt,
): Component {
  return {
    id: node.name,
    kind: 'agent',
    run: (input, context) =>
      run(input, stepContext(context, context.signal, outputs, told)) as AsyncGenerator<never, unknown, void>,
  }
}

async function callFunction(
  { signal: around, outputs }: WorkflowPosition,
  run: StepFunction<unknown, unknown>,
  { node, input, told, own }: Attempt,
): Promise<unknown> {
  const controller = new AbortController()
  const signal = AbortSignal.any([around, controller.signal])
  const { timeoutMs } = node
  const late = (): void => controller.abort(tooLate(node.name, timeoutMs!))
  const stopTimer = timeoutMs === undefined ? undefined : startTimer(late, timeoutMs)
  try {
    const result = await orAborted(signal, (async () => run(input, stepContext(own, signal, outputs, told)))())
    if (typeof (result as Partial<AsyncIterable<unknown>> | null | undefined)?.[Symbol.asyncIterator] === 'function')
      throw new TypeError(`step ${node.name} gave a generator; make its \`run\` one itself (\`async function* (…)\`)`)
    return result
  } finally {
    stopTimer?.()
  }
}

function tooLate(name: string, timeoutMs: number): WorkFailure {
  const message = `step ${name} took longer than ${timeoutMs} ms`
  return new WorkFailure({ code: 'deadline_exceeded', message, retryable: true })
}

function stepContext(
  context: RunContext,
  signal: AbortSignal,
  outputs: FlowFacts['outputs'],
  told: AttemptInput,
): StepContext {
  return {
    ...context,
    ...told,
    signal,
    outputs,
    get replaying() {
      return context.replaying
    },
  }
}

/** What a component is given. */
function inputOf(position: WorkflowPosition, { node, input, told, own }: Attempt): unknown {
  if (node.input !== undefined) return node.input(input, stepContext(own, position.signal, position.outputs, told))
  if (told.answer === undefined && told.feedback === undefined) return input
  if (typeof input !== 'string') return { input, ...told }
  const said = [told.answer, told.feedback].filter((value) => value !== undefined)
  return [input, ...said.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))].join('\n\n')
}
