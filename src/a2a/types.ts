/** A2A types in 1.0 terms, for all versions and bindings. */

export type Metadata = Readonly<Record<string, unknown>>

export type A2aVersion = '1.0' | '0.3'

export type BindingName = 'JSONRPC' | 'HTTP+JSON' | 'GRPC'

export type TaskState =
  | 'TASK_STATE_UNSPECIFIED'
  | 'TASK_STATE_SUBMITTED'
  | 'TASK_STATE_WORKING'
  | 'TASK_STATE_COMPLETED'
  | 'TASK_STATE_FAILED'
  | 'TASK_STATE_CANCELED'
  | 'TASK_STATE_REJECTED'
  | 'TASK_STATE_INPUT_REQUIRED'
  | 'TASK_STATE_AUTH_REQUIRED'

/** Exactly one of `text`, `raw` (base64), `url` and `data`. */
export interface Part {
  readonly text?: string
  readonly raw?: string
  readonly url?: string
  readonly data?: unknown
  readonly metadata?: Metadata
  readonly filename?: string
  readonly mediaType?: string
}

/** A message of a user or an agent. */
export interface Message {
  readonly messageId: string
  readonly contextId?: string
  readonly taskId?: string
  readonly role: 'ROLE_USER' | 'ROLE_AGENT' | 'ROLE_UNSPECIFIED'
  readonly parts: readonly Part[]
  readonly metadata?: Metadata
  readonly extensions?: readonly string[]
  readonly referenceTaskIds?: readonly string[]
}

/** The state of a task, with a message and its time. */
export interface TaskStatus {
  readonly state: TaskState
  readonly message?: Message
  readonly timestamp?: string
}

/** An output of a task, in parts. */
export interface Artifact {
  readonly artifactId: string
  readonly name?: string
  readonly description?: string
  readonly parts: readonly Part[]
  readonly metadata?: Metadata
  readonly extensions?: readonly string[]
}

/** A task: the work of an agent on a message. */
export interface Task {
  readonly id: string
  readonly contextId?: string
  readonly status: TaskStatus
  readonly artifacts?: readonly Artifact[]
  readonly history?: readonly Message[]
  readonly metadata?: Metadata
}

/** A new status of a task, in a stream. */
export interface StatusUpdate {
  readonly taskId: string
  readonly contextId?: string
  readonly status: TaskStatus
  readonly metadata?: Metadata
}

/** New parts of an artifact, in a stream. */
export interface ArtifactUpdate {
  readonly taskId: string
  readonly contextId?: string
  readonly artifact: Artifact
  /** The parts are appended to the artifact; otherwise they replace it. */
  readonly append?: boolean
  readonly lastChunk?: boolean
  readonly metadata?: Metadata
}

/** An agent replies with a task, or with a message only. */
export type SendResult = { readonly task: Task } | { readonly message: Message }

export type TaskUpdate =
  | SendResult
  | { readonly statusUpdate: StatusUpdate }
  | { readonly artifactUpdate: ArtifactUpdate }

/** How an agent handles a message. */
export interface SendConfiguration {
  readonly acceptedOutputModes?: readonly string[] | undefined
  readonly taskPushNotificationConfig?: PushConfigRequest | undefined
  readonly historyLength?: number | undefined
  readonly returnImmediately?: boolean | undefined
}

/** A message to send, with its configuration. */
export interface SendRequest {
  readonly message: Message
  readonly configuration?: SendConfiguration | undefined
  readonly metadata?: Metadata | undefined
}

/** Which tasks to list. */
export interface ListRequest {
  readonly contextId?: string | undefined
  readonly status?: TaskState | undefined
  readonly pageSize?: number | undefined
  readonly pageToken?: string | undefined
  readonly historyLength?: number | undefined
  readonly statusTimestampAfter?: string | undefined
  readonly includeArtifacts?: boolean | undefined
}

/** One page of tasks. */
export interface TaskPage {
  readonly tasks: readonly Task[]
  /** Empty on the last page. */
  readonly nextPageToken: string
  readonly pageSize?: number
  readonly totalSize?: number
}

/** A webhook to register for a task. */
export interface PushConfigRequest {
  readonly id?: string | undefined
  readonly url: string
  /** Sent back with every notification. */
  readonly token?: string | undefined
  readonly authentication?: { readonly scheme: string; readonly credentials?: string | undefined } | undefined
}

/** A webhook of a task, as the agent stores it. */
export interface PushConfig extends PushConfigRequest {
  readonly id: string
  readonly taskId: string
}

/** As fetched: the members that both versions share, and anything else the agent includes. */
export interface AgentCard {
  readonly name?: string
  readonly description?: string
  readonly version?: string
  readonly capabilities?: {
    readonly streaming?: boolean
    readonly pushNotifications?: boolean
    readonly extendedAgentCard?: boolean
    readonly extensions?: readonly { readonly uri?: string; readonly required?: boolean }[]
  }
  readonly [member: string]: unknown
}

const ENDED: readonly TaskState[] = [
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_REJECTED',
]

/** A task in this state is final. */
export function isEnded(state: TaskState): boolean {
  return ENDED.includes(state)
}

/** A task in this state waits for input or credentials. */
export function isWaiting(state: TaskState): boolean {
  return state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED'
}

/** The texts of a message or an artifact. */
export function textOf(parts: readonly Part[]): string {
  return parts.map(({ text = '' }) => text).join('')
}
