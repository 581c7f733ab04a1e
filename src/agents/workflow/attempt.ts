/** One attempt of a workflow step: runs its executor within its timeout and records the result. */
import { type Component, type RunContext, type WorkDetails, WorkError } from '../../core/ports/component.ts'
import { startTimer } from '../../core/runtime/timer.ts'
import type { WorkflowContext, StepContext, StepFunction, StepNode } from './definition.ts'
import { orAborted, type WorkflowPosition } from './position.ts'

/** What an attempt gets besides its input. */
export interface AttemptInput {
  readonly answer?: unknown
  readonly feedback?: string
}

export interface Attempt {
  readonly node: StepNode
  readonly input: unknown
  readonly human: AttemptInput
  /** Ledger keys of the attempt. */
  readonly own: RunContext
  /** Whether its output is retracted if it fails. */
  readonly retract: boolean
}

/** Result of an attempt. A failure is `fresh` if it happened now, not in an earlier execution of the run. */
export type AttemptResult = { readonly output: unknown } | { readonly thrown: unknown; readonly fresh: boolean }

export async function attempt(
  position: WorkflowPosition,
  about: WorkDetails,
  request: Attempt,
): Promise<AttemptResult> {
  const { work, recall } = executorOf(position, request)
  let fresh = false
  const once = (): Promise<unknown> => {
    fresh = true
    return work()
  }
  try {
    return { output: await position.context.step(request.node.name, once, { ...about, revisit: recall }) }
  } catch (thrown) {
    return { thrown, fresh }
  }
}

interface Executor {
  readonly work: () => Promise<unknown>
  /** Used if the log has the outcome: the call's output was already emitted. */
  readonly recall: () => Promise<unknown>
}

function executorOf(position: WorkflowPosition, request: Attempt): Executor {
  const { node, input, retract } = request
  const { run, name, timeoutMs } = node
  const component = typeof run !== 'function' ? run : isGenerator(run) ? componentOf(position, run, request) : undefined
  if (component === undefined)
    return {
      work: () => callFunction(position, run as StepFunction<unknown, unknown>, request),
      recall: async () => {},
    }
  const componentInput = component === run ? inputOf(position, request) : input
  const options = {
    name,
    signal: position.signal,
    retractFailure: retract,
    ...(timeoutMs !== undefined && { timeoutMs }),
  }
  const call = (): Promise<unknown> => position.context.call(component, componentInput, options)
  return { work: call, recall: call }
}

const AsyncGeneratorFunction: unknown = Object.getPrototypeOf(async function* () {})

function isGenerator(run: StepFunction<unknown, unknown>): boolean {
  return Object.getPrototypeOf(run) === AsyncGeneratorFunction
}

/** Wraps a generator function as a component, so that its emissions have their own actor. */
function componentOf(
  { outputs }: WorkflowPosition,
  run: StepFunction<unknown, unknown>,
  { node, human }: Attempt,
): Component {
  return {
    id: node.name,
    kind: 'agent',
    run: (input, context) =>
      run(input, stepContext(context, context.signal, outputs, human)) as AsyncGenerator<never, unknown, void>,
  }
}

async function callFunction(
  { signal: around, outputs }: WorkflowPosition,
  run: StepFunction<unknown, unknown>,
  { node, input, human, own }: Attempt,
): Promise<unknown> {
  const controller = new AbortController()
  const signal = AbortSignal.any([around, controller.signal])
  const { timeoutMs } = node
  const late = (): void => controller.abort(tooLate(node.name, timeoutMs!))
  const stopTimer = timeoutMs === undefined ? undefined : startTimer(late, timeoutMs)
  try {
    const result = await orAborted(signal, (async () => run(input, stepContext(own, signal, outputs, human)))())
    if (typeof (result as Partial<AsyncIterable<unknown>> | null | undefined)?.[Symbol.asyncIterator] === 'function')
      throw new TypeError(
        `step ${node.name} returned a generator; make its \`run\` a generator function (\`async function* (…)\`)`,
      )
    return result
  } finally {
    stopTimer?.()
  }
}

function tooLate(name: string, timeoutMs: number): WorkError {
  const message = `step ${name} took longer than ${timeoutMs} ms (timeoutMs)`
  return new WorkError({ code: 'deadline_exceeded', message, retryable: true })
}

function stepContext(
  context: RunContext,
  signal: AbortSignal,
  outputs: WorkflowContext['outputs'],
  human: AttemptInput,
): StepContext {
  return {
    ...context,
    ...human,
    signal,
    outputs,
    get replaying() {
      return context.replaying
    },
  }
}

/** The input of a component. */
function inputOf(position: WorkflowPosition, { node, input, human, own }: Attempt): unknown {
  if (node.input !== undefined) return node.input(input, stepContext(own, position.signal, position.outputs, human))
  if (human.answer === undefined && human.feedback === undefined) return input
  if (typeof input !== 'string') return { input, ...human }
  const humanTexts = [human.answer, human.feedback].filter((value) => value !== undefined)
  return [input, ...humanTexts.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))].join('\n\n')
}
