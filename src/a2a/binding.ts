/** Interface of all bindings: A2A operations by their 1.0 names. */
import type { Decoder } from './decode.ts'
import type {
  AgentCard,
  ListRequest,
  Metadata,
  PushConfig,
  PushConfigRequest,
  SendRequest,
  SendResult,
  Task,
  TaskPage,
  TaskUpdate,
} from './types.ts'

/** Names one push configuration: the task, and the configuration's id. */
export interface PushConfigKey {
  readonly taskId: string
  readonly id: string
}

export interface Operations {
  readonly SendMessage: { readonly params: SendRequest; readonly result: SendResult }
  readonly GetTask: { readonly params: { readonly id: string; readonly historyLength?: number }; readonly result: Task }
  readonly ListTasks: { readonly params: ListRequest; readonly result: TaskPage }
  readonly CancelTask: { readonly params: { readonly id: string; readonly metadata?: Metadata }; readonly result: Task }
  readonly CreateTaskPushNotificationConfig: {
    readonly params: PushConfigRequest & { readonly taskId: string }
    readonly result: PushConfig
  }
  readonly GetTaskPushNotificationConfig: { readonly params: PushConfigKey; readonly result: PushConfig }
  readonly ListTaskPushNotificationConfigs: {
    readonly params: { readonly taskId: string }
    readonly result: readonly PushConfig[]
  }
  readonly DeleteTaskPushNotificationConfig: { readonly params: PushConfigKey; readonly result: undefined }
  readonly GetExtendedAgentCard: { readonly params: object; readonly result: AgentCard }
}

export type OperationName = keyof Operations

/** Operations that return a stream. */
export interface StreamOperations {
  readonly SendStreamingMessage: SendRequest
  readonly SubscribeToTask: { readonly id: string }
}

export type StreamName = keyof StreamOperations

/** An operation with its parameters. */
export type Invocation = {
  [Name in OperationName]: { readonly name: Name; readonly params: Operations[Name]['params'] }
}[OperationName]

export type StreamInvocation = {
  [Name in StreamName]: { readonly name: Name; readonly params: StreamOperations[Name] }
}[StreamName]

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** Time limit for the whole response; for a stream, its idle timeout. */
  readonly timeoutMs: number
}

export interface StreamOptions extends CallOptions {
  /** Resumes after this position. */
  readonly after?: string | undefined
}

export interface Binding {
  /** The agent's raw response. */
  call(invocation: Invocation, options: CallOptions): Promise<unknown>
  stream(invocation: StreamInvocation, options: StreamOptions): AsyncGenerator<TaskUpdate, void, void>
  /** Decodes responses. */
  readonly reader: Decoder
  close(): void
}

/** Calls an operation and returns the response in 1.0 terms. */
export async function callBinding<Name extends OperationName>(
  binding: Binding,
  name: Name,
  params: Operations[Name]['params'],
  options: CallOptions,
): Promise<Operations[Name]['result']> {
  const invocation = { name, params } as Invocation
  return resultOf(binding.reader, invocation, await binding.call(invocation, options))
}

function resultOf(reader: Decoder, { name, params }: Invocation, reply: unknown): Operations[OperationName]['result'] {
  switch (name) {
    case 'SendMessage':
      return reader.sent(reply)
    case 'GetTask':
    case 'CancelTask':
      return reader.task(reply)
    case 'ListTasks':
      return reader.page(reply)
    case 'CreateTaskPushNotificationConfig':
    case 'GetTaskPushNotificationConfig':
      return reader.pushConfig(reply, params.taskId)
    case 'ListTaskPushNotificationConfigs':
      return reader.pushConfigs(reply, params.taskId)
    case 'DeleteTaskPushNotificationConfig':
      return undefined
    case 'GetExtendedAgentCard':
      return reply as AgentCard
  }
}
