/** A2A 1.0 on the wire: the JSON of its protocol buffers, which every binding speaks and 0.3 is translated from and to. */
import type { TaskState } from './states.ts'

export type Metadata = Readonly<Record<string, unknown>>

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

export interface Message {
  readonly messageId: string
  readonly contextId?: string
  readonly taskId?: string
  readonly role: 'ROLE_USER' | 'ROLE_AGENT'
  readonly parts: readonly Part[]
  readonly metadata?: Metadata
  readonly extensions?: readonly string[]
  readonly referenceTaskIds?: readonly string[]
}

export interface TaskStatus {
  readonly state: TaskState
  readonly message?: Message
  readonly timestamp?: string
}

export interface Artifact {
  readonly artifactId: string
  readonly name?: string
  readonly parts: readonly Part[]
  readonly metadata?: Metadata
}

export interface Task {
  readonly id: string
  readonly contextId: string
  readonly status: TaskStatus
  readonly artifacts?: readonly Artifact[]
  readonly history?: readonly Message[]
  readonly metadata?: Metadata
}

export interface StatusUpdate {
  readonly taskId: string
  readonly contextId: string
  readonly status: TaskStatus
  readonly metadata?: Metadata
}

export interface ArtifactUpdate {
  readonly taskId: string
  readonly contextId: string
  readonly artifact: Artifact
  readonly append?: true
  readonly lastChunk?: true
  readonly metadata?: Metadata
}

export type SendResult = { readonly task: Task } | { readonly message: Message }

export type StreamResponse =
  | SendResult
  | { readonly statusUpdate: StatusUpdate }
  | { readonly artifactUpdate: ArtifactUpdate }

export interface SendRequest {
  readonly message: Message
  readonly configuration?: SendConfiguration | undefined
  readonly metadata?: Metadata | undefined
}

export interface SendConfiguration {
  readonly acceptedOutputModes?: readonly string[] | undefined
  readonly taskPushNotificationConfig?: PushConfigRequest | undefined
  readonly historyLength?: number | undefined
  readonly returnImmediately?: boolean | undefined
}

export interface ListRequest {
  readonly contextId?: string | undefined
  readonly status?: TaskState | 'TASK_STATE_UNSPECIFIED' | undefined
  readonly pageSize?: number | undefined
  readonly pageToken?: string | undefined
  readonly historyLength?: number | undefined
  readonly statusTimestampAfter?: string | undefined
  readonly includeArtifacts?: boolean | undefined
}

export interface TaskList {
  readonly tasks: readonly Task[]
  readonly nextPageToken: string
  readonly pageSize: number
  readonly totalSize: number
}

export interface PushConfigRequest {
  readonly id?: string | undefined
  readonly taskId?: string | undefined
  readonly url: string
  readonly token?: string | undefined
  readonly authentication?: { readonly scheme: string; readonly credentials?: string | undefined } | undefined
}

export interface PushConfig extends PushConfigRequest {
  readonly id: string
  readonly taskId: string
}

export interface PushConfigList {
  readonly configs: readonly PushConfig[]
  readonly nextPageToken: string
}

export interface AgentExtension {
  readonly uri: string
  readonly description?: string
  readonly required?: true
  readonly params?: Metadata
}

export interface AgentSkill {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly tags: readonly string[]
  readonly examples?: readonly string[]
  readonly inputModes?: readonly string[]
  readonly outputModes?: readonly string[]
}

export interface AgentInterface {
  readonly url: string
  readonly protocolBinding: 'JSONRPC' | 'HTTP+JSON' | 'GRPC'
  /** What requests have to name there. */
  readonly tenant?: string
  readonly protocolVersion: '1.0' | '0.3'
}

export interface AgentCard {
  readonly name: string
  readonly description: string
  readonly supportedInterfaces: readonly AgentInterface[]
  readonly provider?: { readonly url: string; readonly organization: string }
  readonly version: string
  readonly documentationUrl?: string
  readonly iconUrl?: string
  readonly capabilities: {
    readonly streaming: boolean
    readonly pushNotifications: boolean
    readonly extendedAgentCard: boolean
    readonly extensions: readonly AgentExtension[]
  }
  readonly securitySchemes?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly securityRequirements?: readonly {
    readonly schemes: Readonly<Record<string, { readonly list?: string[] }>>
  }[]
  readonly defaultInputModes: readonly string[]
  readonly defaultOutputModes: readonly string[]
  readonly skills: readonly AgentSkill[]
  readonly signatures?: readonly CardSignature[]
}

export interface CardSignature {
  readonly protected: string
  readonly signature: string
}
