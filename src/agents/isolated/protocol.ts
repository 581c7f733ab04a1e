/** What the host of an isolated component and its thread ask of each other. */
import type {
  CallOptions,
  ComponentFacts,
  HistoryMessage,
  HistoryOptions,
  RunContext,
} from '../../core/ports/component.ts'
import type { PackedError } from './errors.ts'
import type { PackedValue, PackedEmission } from './packing.ts'

/** Given to the thread when it is started. */
export interface ThreadData {
  readonly holdfastIsolated: true
  /** URL of the module. */
  readonly module: string
  readonly export: string | undefined
}

/** A function that stays in the thread. */
export type FunctionId = number
/** A call of such a function by the host. What the function asks for is recorded as being below it. */
export type InvocationId = number
/** An async iterator of the thread. */
export type StreamId = number
/** A context of the host. Negative where `within` opened it, which the thread numbers itself. */
export type ContextId = number

/** Where work is asked for. */
export interface CallSite {
  readonly context: ContextId
  readonly enclosing: InvocationId
}

/** What a context is, without what it does. */
export interface ContextValues extends Pick<
  RunContext,
  'run' | 'session' | 'owner' | 'metadata' | 'attempt' | 'replaying'
> {
  readonly id: ContextId
}

export interface PackedStepOptions {
  readonly about: PackedValue
  readonly revisit: FunctionId | undefined
}

/** A component that lives in the thread. */
export interface CalledComponent {
  readonly facts: PackedValue
  readonly run: FunctionId
}

export interface PackedCallOptions extends Omit<CallOptions, 'signal'> {
  /** Number of the call, where the agent may abort it. */
  readonly abortable?: number
}

/** Served by the host: the context of the run. */
export interface HostMethods {
  step(site: CallSite, name: string, body: FunctionId, options: PackedStepOptions | undefined): Promise<unknown>
  stage(site: CallSite, name: string, body: FunctionId, options: PackedStepOptions | undefined): Promise<unknown>
  tool(site: CallSite, call: PackedValue, input: PackedValue, body: FunctionId): Promise<unknown>
  call(site: CallSite, component: CalledComponent, input: PackedValue, options: PackedCallOptions): Promise<unknown>
  ask(site: CallSite, question: PackedValue): Promise<unknown>
  sleep(site: CallSite, milliseconds: number): Promise<void>
  sleepUntil(site: CallSite, time: Date | string | number): Promise<void>
  history(site: CallSite, options: HistoryOptions | undefined): Promise<readonly HistoryMessage[]>
  progress(invocation: InvocationId, value: PackedValue): Promise<void>
  within(site: CallSite, branch: string, opened: ContextId): void
  abortCall(abortable: number, reason: PackedError): void
}

export type StreamResult =
  | { readonly done: false; readonly value: PackedEmission }
  | { readonly done: true; readonly value: PackedValue }

/** Served by the thread: the code of the component. */
export interface ThreadMethods {
  /** Loads the module, and says what its component is. */
  describe(): Promise<ComponentFacts>
  /** Begins the run as a stream. */
  start(stream: StreamId, input: unknown, context: ContextValues): Promise<void>
  openStage(stream: StreamId, body: FunctionId, invocation: InvocationId): void
  openCall(stream: StreamId, run: FunctionId, invocation: InvocationId, context: ContextValues): void
  next(stream: StreamId): Promise<StreamResult>
  return(stream: StreamId): Promise<void>
  invoke(body: FunctionId, invocation: InvocationId): Promise<PackedValue>
  invokeTool(body: FunctionId, invocation: InvocationId, key: string): Promise<PackedValue>
  replaying(context: ContextId, value: boolean): void
  abort(context: ContextId, reason: PackedError): void
}
