/** Context of a component in its thread: each function calls the same function of the host's context. */
import { askTyped } from '../../core/execution/ask-typed.ts'
import { runComponent } from '../../core/execution/run-component.ts'
import {
  type AskOptions,
  type CallOptions,
  type Component,
  type Emission,
  RejectedError,
  type RunContext,
  type ContextStepOptions,
  type ToolAttempt,
} from '../../core/ports/component.ts'
import { factsOf } from './load-component.ts'
import { pack } from './packing.ts'
import type { ContextValues, FunctionId, InvocationId, PackedStepOptions, CallSite } from './protocol.ts'
import type { ThreadRun } from './thread-run.ts'

/** State that the host updates while a context is in use. */
export interface ContextState {
  readonly controller: AbortController
  replaying: boolean
}

/** Contexts that `within` opens share the state of their parent. */
export function createThreadContext(run: ThreadRun, values: ContextValues, state: ContextState): RunContext {
  const { id, replaying: _initial, ...facts } = values
  const { signal } = state.controller
  const site = (): CallSite => ({ context: id, enclosing: run.enclosing })
  return {
    ...facts,
    signal,
    get replaying() {
      return state.replaying
    },
    step: (name, work, options) =>
      run.lend([() => work(signal), options?.revisit], ([body, revisit]) =>
        run.host.call('step', site(), name, body!, packOptions(options, revisit)),
      ) as Promise<never>,
    stage: (name, work, options) =>
      run.lend([work, options?.revisit], ([body, revisit]) =>
        run.host.call('stage', site(), name, body!, packOptions(options, revisit)),
      ) as Promise<never>,
    tool: ({ input, ...call }, work) =>
      run.lend([(invocation: InvocationId, key: string) => work(attemptOf(run, signal, invocation, key))], ([body]) =>
        run.host.call('tool', site(), pack(call, 'call'), pack(input, 'data.input'), body!),
      ) as Promise<never>,
    call: (component, input, options = {}) =>
      callComponent(run, site(), component as Component, input, options) as Promise<never>,
    within: (branch) => {
      const opened = run.newContextId()
      run.host.notify('within', site(), branch, opened)
      return createThreadContext(run, { ...values, id: opened }, state)
    },
    ask: (question: string | AskOptions) =>
      run.withRejectionHandled(
        askTyped(question, (plain) => run.host.call('ask', site(), pack(plain, 'question'))),
      ) as Promise<never>,
    sleep: (milliseconds) => run.withRejectionHandled(run.host.call('sleep', site(), milliseconds)),
    sleepUntil: (time) => run.withRejectionHandled(run.host.call('sleepUntil', site(), time)),
    history: (options) => run.withRejectionHandled(run.host.call('history', site(), options)),
    reject(reason) {
      throw new RejectedError(reason)
    },
  }
}

function packOptions(
  options: ContextStepOptions | undefined,
  revisit: FunctionId | undefined,
): PackedStepOptions | undefined {
  if (options === undefined) return undefined
  const { revisit: _function, ...about } = options
  return { about: pack(about, 'data'), revisit }
}

function attemptOf(run: ThreadRun, signal: AbortSignal, invocation: InvocationId, key: string): ToolAttempt {
  const progress = new LatestProgress((value) => run.host.call('progress', invocation, pack(value, 'data.output')))
  return { key, signal, progress: (value) => run.withRejectionHandled(progress.show(value)) }
}

/** One value is in flight; only the newest of later ones is buffered. So a tool that never awaits uses no memory. */
class LatestProgress {
  readonly #send: (value: unknown) => Promise<void>
  #sending: Promise<void> | undefined
  #newest: { readonly value: unknown } | undefined

  constructor(send: (value: unknown) => Promise<void>) {
    this.#send = send
  }

  show(value: unknown): Promise<void> {
    if (this.#sending === undefined) return this.#put(value)
    this.#newest = { value }
    return this.#sending
  }

  #put(value: unknown): Promise<void> {
    this.#sending = this.#send(value).finally(() => (this.#sending = undefined))
    return this.#sending.then(() => this.#next())
  }

  #next(): Promise<void> | undefined {
    const newest = this.#newest
    this.#newest = undefined
    return newest === undefined ? undefined : this.show(newest.value)
  }
}

/** Runs a component of this thread inside the run. The host records its work; its code stays here. */
function callComponent(
  run: ThreadRun,
  site: CallSite,
  component: Component,
  input: unknown,
  { signal, ...options }: CallOptions,
): Promise<unknown> {
  const open = (context: RunContext): AsyncIterator<Emission, unknown> => runComponent(component, input, context)
  return run.lend([open], ([body]) => {
    const called = { facts: pack(factsOf(component), 'component'), run: body! }
    if (signal === undefined) return run.host.call('call', site, called, pack(input, 'data.input'), options)
    const abortable = run.newCallId()
    const abort = (): void => run.host.notify('abortCall', abortable, run.host.errors.pack(signal.reason, true))
    const result = run.host.call('call', site, called, pack(input, 'data.input'), { ...options, abortable })
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    return result.finally(() => signal.removeEventListener('abort', abort))
  })
}
