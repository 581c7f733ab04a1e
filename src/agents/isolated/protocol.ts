/** RPC protocol between the host of an isolated component and its thread. */
import type { CallOptions, HistoryMessage, HistoryOptions, RunContext } from '../../core/ports/component.ts'
import type { ModuleDescription } from './load-component.ts'
import type { PackedError } from './errors.ts'
import type { PackedValue, PackedEmission } from './packing.ts'

/** `workerData` of the thread. */
export interface ThreadData {
  readonly holdfastIsolated: true
  /** URL of the module. */
  readonly module: string
  readonly export: string | undefined
}

/** A function in the thread. */
export type FunctionId = number
/** A host's call of such a function. Work that the function requests is recorded below it. */
export type InvocationId = number
/** An async iterator in the thread. */
export type StreamId = number
/** A context of the host. Negative ids are assigned by the thread, for contexts that `within` opens. */
export type ContextId = number

/** Where work is requested. */
export interface CallSite {
  readonly context: ContextId
  readonly enclosing: InvocationId
}

/** A context's data, without its functions. */
export interface ContextValues extends Pick<
  RunContext,
  'runId' | 'sessionId' | 'owner' | 'metadata' | 'attempt' | 'replaying'
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
  /** Number of the call, if the agent can abort it. */
  readonly abortable?: number
}

/** Served by the host: the run's context. */
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

/** Served by the thread: the component's code. */
export interface ThreadMethods {
  /** Loads the module and describes its component. */
  describe(): Promise<ModuleDescription>
  /** Starts the run as a stream. */
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
