/** Host side of an isolated run: executes the thread's context calls and invokes its functions. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type {
  AskOptions,
  Component,
  ComponentDescription,
  Emission,
  RunContext,
  ToolCall,
} from '../../core/ports/component.ts'
import type { PackedError } from './errors.ts'
import { type PackedValue, unpack, unpackEmission } from './packing.ts'
import type {
  CalledComponent,
  ContextId,
  ContextValues,
  FunctionId,
  HostMethods,
  InvocationId,
  PackedCallOptions,
  PackedStepOptions,
  CallSite,
  StreamId,
  ThreadMethods,
} from './protocol.ts'
import { type Port, Rpc } from './rpc.ts'

/** Runs code in the async context of an invocation, so that its work is recorded below it. */
type Resume = <Result>(work: () => Result) => Result

interface HostContext {
  readonly context: RunContext
  /** The context that `within` was first called on, whose state the thread holds. */
  readonly base: BaseContext
}

interface BaseContext {
  readonly id: ContextId
  /** The value that the thread was last sent. */
  replaying: boolean
}

export class HostRun {
  readonly thread: Rpc<ThreadMethods>
  readonly #contexts = new Map<ContextId, HostContext>()
  readonly #invocations = new Map<InvocationId, Resume>()
  readonly #progress = new Map<InvocationId, (value: unknown) => Promise<void>>()
  readonly #aborters = new Map<number, AbortController>()
  /** Remove the abort listeners of contexts. */
  readonly #listening: (() => void)[] = []
  #count = 0

  constructor(port: Port) {
    const served: HostMethods = {
      step: (site, name, body, options) =>
        this.#at(site, (context) => context.step(name, () => this.#invoke(body), this.#options(options))),
      stage: (site, name, body, options) =>
        this.#at(site, (context) => context.stage(name, () => this.#stage(body), this.#options(options))),
      tool: (site, call, input, body) => this.#at(site, (context) => this.#tool(context, call, input, body)),
      call: (...args) => this.#call(...args),
      ask: (site, question) => this.#at(site, (context) => context.ask(unpack(question) as AskOptions)),
      sleep: (site, milliseconds) => this.#at(site, (context) => context.sleep(milliseconds)),
      sleepUntil: (site, time) => this.#at(site, (context) => context.sleepUntil(time)),
      history: (site, options) => this.#at(site, (context) => context.history(options)),
      progress: async (invocation, value) => this.#progress.get(invocation)?.(unpack(value)),
      within: (site, branch, opened) => this.#within(site, branch, opened),
      abortCall: (abortable, reason) => this.#abortCall(abortable, reason),
    }
    this.thread = new Rpc(port, served, { keepsErrors: false })
  }

  /** Starts the run; call it in the run's async context. */
  async start(input: unknown, context: RunContext): Promise<AsyncGenerator<Emission, unknown, void>> {
    this.#invocations.set(0, AsyncLocalStorage.snapshot())
    const stream = ++this.#count
    const registered = this.#register(context)
    await this.thread.call('start', stream, input, valuesOf(registered))
    return this.#stream(stream, registered)
  }

  /** Releases everything; no further calls are served. */
  end(): void {
    for (const stop of this.#listening.splice(0)) stop()
  }

  async #at<Result>(
    { context: id, enclosing }: CallSite,
    ask: (context: RunContext) => Promise<Result>,
  ): Promise<Result> {
    const known = this.#contexts.get(id)!
    const resume = this.#invocations.get(enclosing)!
    try {
      return await resume(() => ask(known.context))
    } finally {
      this.#tellReplaying(known)
    }
  }

  #options(packed: PackedStepOptions | undefined): Parameters<RunContext['step']>[2] {
    if (packed === undefined) return undefined
    const { about, revisit } = packed
    const options = unpack(about) as Parameters<RunContext['step']>[2]
    return revisit === undefined ? options : { ...options!, revisit: () => this.#invoke(revisit) }
  }

  async #invoke(body: FunctionId): Promise<unknown> {
    return unpack(await this.thread.call('invoke', body, this.#enter()))
  }

  #tool(context: RunContext, call: PackedValue, input: PackedValue, body: FunctionId): Promise<unknown> {
    return context.tool({ ...(unpack(call) as ToolCall), input: unpack(input) }, async ({ key, progress }) => {
      const invocation = this.#enter()
      this.#progress.set(invocation, progress)
      try {
        return unpack(await this.thread.call('invokeTool', body, invocation, key))
      } finally {
        this.#progress.delete(invocation)
      }
    })
  }

  #stage(body: FunctionId): AsyncGenerator<Emission, unknown, void> {
    const stream = ++this.#count
    this.thread.notify('openStage', stream, body, this.#enter())
    return this.#stream(stream)
  }

  async #call(
    site: CallSite,
    { facts, run }: CalledComponent,
    input: PackedValue,
    { abortable, ...options }: PackedCallOptions,
  ): Promise<unknown> {
    const component: Component = {
      ...(unpack(facts) as ComponentDescription),
      run: (_input, context) => {
        const stream = ++this.#count
        const registered = this.#register(context)
        this.thread.notify('openCall', stream, run, this.#enter(), valuesOf(registered))
        return this.#stream(stream, registered)
      },
    }
    const aborter = abortable === undefined ? undefined : new AbortController()
    if (aborter !== undefined) this.#aborters.set(abortable!, aborter)
    const signal = aborter && { signal: aborter.signal }
    try {
      return await this.#at(site, (context) => context.call(component, unpack(input), { ...options, ...signal }))
    } finally {
      if (abortable !== undefined) this.#aborters.delete(abortable)
    }
  }

  #abortCall(abortable: number, reason: PackedError): void {
    this.#aborters.get(abortable)?.abort(this.thread.errors.unpack(reason))
  }

  #within({ context: id, enclosing }: CallSite, branch: string, opened: ContextId): void {
    const { context, base } = this.#contexts.get(id)!
    const open = (): RunContext => this.#invocations.get(enclosing)!(() => context.within(branch))
    try {
      this.#contexts.set(opened, { context: open(), base })
    } catch (cause) {
      this.#contexts.set(opened, { context: refusingContext(context, cause), base })
    }
  }

  /** Stores the current async context under a number. The thread may refer to it after the invocation has ended. */
  #enter(): InvocationId {
    const invocation = ++this.#count
    this.#invocations.set(invocation, AsyncLocalStorage.snapshot())
    return invocation
  }

  #register(context: RunContext): HostContext {
    const id = ++this.#count
    const { replaying, signal } = context
    const registered = { context, base: { id, replaying } }
    this.#contexts.set(id, registered)
    const abort = (): void => this.thread.notify('abort', id, this.thread.errors.pack(signal.reason))
    signal.addEventListener('abort', abort, { once: true })
    this.#listening.push(() => signal.removeEventListener('abort', abort))
    return registered
  }

  /** Called before the thread's code continues. */
  #tellReplaying({ context, base }: HostContext): void {
    if (context.replaying === base.replaying) return
    base.replaying = context.replaying
    this.thread.notify('replaying', base.id, base.replaying)
  }

  /**
   * An iterator of the thread. The host requests each value after it consumed the previous one, so backpressure is the same as
   * for an agent in the host's thread. Not a generator: its `return` must not wait for a pending `next`.
   */
  #stream(id: StreamId, of?: HostContext): AsyncGenerator<Emission, unknown, void> {
    const { thread } = this
    return {
      next: async () => {
        if (of !== undefined) this.#tellReplaying(of)
        const result = await thread.call('next', id)
        return result.done
          ? { done: true, value: unpack(result.value) }
          : { done: false, value: unpackEmission(result.value) }
      },
      return: async (value) => {
        await thread.call('return', id)
        return { done: true, value }
      },
      throw: async (error) => {
        await thread.call('return', id)
        throw error
      },
      [Symbol.asyncIterator]() {
        return this
      },
      [Symbol.asyncDispose]: async () => thread.call('return', id),
    }
  }
}

function valuesOf({ context, base: { id, replaying } }: HostContext): ContextValues {
  const { runId, sessionId, owner, metadata, attempt } = context
  return { id, runId, sessionId, owner, metadata, attempt, replaying }
}

/** A context whose branch could not be opened: every call fails with the error of `within`. */
function refusingContext(context: RunContext, cause: unknown): RunContext {
  const refuse = (): Promise<never> => Promise.reject(cause)
  return { ...context, step: refuse, stage: refuse, tool: refuse, call: refuse, ask: refuse }
}
