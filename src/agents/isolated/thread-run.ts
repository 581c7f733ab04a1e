/** Thread side of an isolated run: its functions and streams, which the host calls by number, and their contexts. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Component, Emission, RunContext } from '../../core/ports/component.ts'
import { RejectedError } from '../../core/ports/component.ts'
import { RunFailure } from '../../core/execution/run-failure.ts'
import { iterate } from '../../core/execution/iterate.ts'
import { runComponent } from '../../core/execution/run-component.ts'
import { describeComponent, type ModuleDescription } from './load-component.ts'
import { pack, type PackedValue, packEmission, packOutput } from './packing.ts'
import type {
  ContextId,
  ContextValues,
  FunctionId,
  HostMethods,
  InvocationId,
  StreamId,
  StreamResult,
  ThreadMethods,
} from './protocol.ts'
import { type Port, Rpc } from './rpc.ts'
import { type ContextState, createThreadContext } from './thread-context.ts'

/** Maximum contexts that `within` may open in one run. */
const BRANCHES_MAX = 100_000

type LentFunction = (...args: never[]) => unknown

interface Stream {
  /** Called by the first `next`. */
  readonly open: () => AsyncIterator<Emission, unknown>
  iterator?: AsyncIterator<Emission, unknown>
  /** Work that its code requests is recorded below this invocation. */
  readonly invocation: InvocationId
}

export class ThreadRun implements ThreadMethods {
  readonly host: Rpc<HostMethods>
  readonly #load: () => Promise<Component>
  readonly #functions = new Map<FunctionId, LentFunction>()
  readonly #streams = new Map<StreamId, Stream>()
  readonly #contexts = new Map<ContextId, ContextState>()
  readonly #enclosing = new AsyncLocalStorage<InvocationId>()
  #functionCount = 0
  #branches = 0
  #calls = 0

  constructor(port: Port, load: () => Promise<Component>) {
    this.#load = load
    const served: ThreadMethods = {
      describe: () => this.describe(),
      start: (...args) => this.start(...args),
      openStage: (...args) => this.openStage(...args),
      openCall: (...args) => this.openCall(...args),
      next: (stream) => this.next(stream),
      return: (stream) => this.return(stream),
      invoke: (...args) => this.invoke(...args),
      invokeTool: (...args) => this.invokeTool(...args),
      replaying: (...args) => this.replaying(...args),
      abort: (...args) => this.abort(...args),
    }
    this.host = new Rpc(port, served, { keepsErrors: true })
  }

  /** The invocation whose code is running; 0: the run itself. */
  get enclosing(): InvocationId {
    return this.#enclosing.getStore() ?? 0
  }

  async describe(): Promise<ModuleDescription> {
    return describeComponent(await this.#load())
  }

  async start(stream: StreamId, input: unknown, values: ContextValues): Promise<void> {
    const component = await this.#load()
    this.#streams.set(stream, { invocation: 0, open: () => runComponent(component, input, this.#context(values)) })
  }

  openStage(stream: StreamId, body: FunctionId, invocation: InvocationId): void {
    const open = this.#function(body)
    this.#streams.set(stream, { invocation, open: () => iterate(open()) })
  }

  openCall(stream: StreamId, run: FunctionId, invocation: InvocationId, values: ContextValues): void {
    const open = this.#function(run) as (context: RunContext) => AsyncIterator<Emission, unknown>
    this.#streams.set(stream, { invocation, open: () => open(this.#context(values)) })
  }

  async next(id: StreamId): Promise<StreamResult> {
    const stream = this.#streams.get(id)!
    const { invocation } = stream
    const pending = this.#enclosing.run(invocation, () => {
      stream.iterator ??= stream.open()
      return stream.iterator.next()
    })
    const { done, value } = await (invocation === 0 ? pending.catch(rejectInput) : pending)
    if (done !== true) return { done: false, value: packEmission(value, (await this.#load()).onUnserializable) }
    this.#streams.delete(id)
    return { done: true, value: invocation === 0 ? packOutput(value) : pack(value, 'data.output') }
  }

  async return(id: StreamId): Promise<void> {
    const stream = this.#streams.get(id)
    this.#streams.delete(id)
    if (stream !== undefined) await this.#enclosing.run(stream.invocation, () => stream.iterator?.return?.())
  }

  invoke(body: FunctionId, invocation: InvocationId): Promise<PackedValue> {
    return this.#invoke(invocation, () => this.#function(body)())
  }

  invokeTool(body: FunctionId, invocation: InvocationId, key: string): Promise<PackedValue> {
    const work = this.#function(body) as (invocation: InvocationId, key: string) => unknown
    return this.#invoke(invocation, () => work(invocation, key))
  }

  replaying(context: ContextId, value: boolean): void {
    const state = this.#contexts.get(context)
    if (state !== undefined) state.replaying = value
  }

  abort(context: ContextId, reason: Parameters<ThreadMethods['abort']>[1]): void {
    this.#contexts.get(context)?.controller.abort(this.host.errors.unpack(reason))
  }

  /** Lets the host call these functions while a request to it is pending. */
  lend<Result>(
    functions: readonly (LentFunction | undefined)[],
    request: (ids: readonly (FunctionId | undefined)[]) => Promise<Result>,
  ): Promise<Result> {
    const ids = functions.map((lent) => {
      if (lent === undefined) return undefined
      this.#functions.set(++this.#functionCount, lent)
      return this.#functionCount
    })
    const take = (): void => ids.forEach((id) => id !== undefined && this.#functions.delete(id))
    return this.withRejectionHandled(request(ids).finally(take))
  }

  /** An agent may leave work unawaited. Its rejection at the end of the run must not be an unhandled one. */
  withRejectionHandled<Result>(work: Promise<Result>): Promise<Result> {
    work.catch(() => {})
    return work
  }

  newContextId(): ContextId {
    if (++this.#branches > BRANCHES_MAX)
      throw new RunFailure('protocol_violation', `a run opened more than ${BRANCHES_MAX} branches with \`within\``)
    return -this.#branches
  }

  newCallId(): number {
    return ++this.#calls
  }

  #context(values: ContextValues): RunContext {
    const state: ContextState = { controller: new AbortController(), replaying: values.replaying }
    this.#contexts.set(values.id, state)
    return createThreadContext(this, values, state)
  }

  #function(id: FunctionId): () => unknown {
    return this.#functions.get(id) as () => unknown
  }

  async #invoke(invocation: InvocationId, work: () => unknown): Promise<PackedValue> {
    return pack(await this.#enclosing.run(invocation, work), 'data.output')
  }
}

/** The run was accepted before its input could be parsed here, so it is refused now. */
function rejectInput(thrown: unknown): never {
  if (thrown instanceof RunFailure && thrown.failure.code === 'invalid_input') throw new RejectedError(thrown.message)
  throw thrown
}
