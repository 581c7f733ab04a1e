/** What every binding can do: the operations of A2A by the names of 1.0, whatever they are called on the wire. */
import type { Reader } from './read.ts'
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
  Update,
} from './types.ts'

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

/** Those that are answered with a stream. */
export interface StreamOperations {
  readonly SendStreamingMessage: SendRequest
  readonly SubscribeToTask: { readonly id: string }
}

export type StreamName = keyof StreamOperations

/** One of the operations, with what it is given. */
export type Invocation = {
  [Name in OperationName]: { readonly name: Name; readonly params: Operations[Name]['params'] }
}[OperationName]

export type StreamInvocation = {
  [Name in StreamName]: { readonly name: Name; readonly params: StreamOperations[Name] }
}[StreamName]

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** Until the whole answer is there, or, of a stream, how long it may be silent. */
  readonly timeoutMs: number
}

export interface StreamOptions extends CallOptions {
  /** The position after which the events are wanted. */
  readonly after?: string | undefined
}

export interface Binding {
  /** What the agent answered, as it was on the wire. */
  call(invocation: Invocation, options: CallOptions): Promise<unknown>
  stream(invocation: StreamInvocation, options: StreamOptions): AsyncGenerator<Update, void, void>
  /** How it is to be read. */
  readonly reader: Reader
  close(): void
}

/** The answer to an operation, in the words of 1.0. */
export async function callBinding<Name extends OperationName>(
  binding: Binding,
  name: Name,
  params: Operations[Name]['params'],
  options: CallOptions,
): Promise<Operations[Name]['result']> {
  const invocation = { name, params } as Invocation
  return resultOf(binding.reader, invocation, await binding.call(invocation, options))
}

function resultOf(reader: Reader, { name, params }: Invocation, reply: unknown): Operations[OperationName]['result'] {
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
