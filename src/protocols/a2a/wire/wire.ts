/**
 * Wire types of A2A 1.0 (ProtoJSON) that this server sends. All bindings use them, and 0.3 is converted from and to them. Types of
 * other agents' messages, with optional fields, are in `a2a/types.ts`.
 */
import type * as A2a from '../../../a2a/types.ts'
import type { TaskState } from '../view/states.ts'

export type { Artifact, ListRequest, Message, Metadata, Part, PushConfig, SendRequest } from '../../../a2a/types.ts'

export interface TaskStatus extends A2a.TaskStatus {
  readonly state: TaskState
}

export interface Task extends A2a.Task {
  readonly contextId: string
  readonly status: TaskStatus
}

export interface StatusUpdate extends A2a.StatusUpdate {
  readonly contextId: string
  readonly status: TaskStatus
}

export interface ArtifactUpdate extends A2a.ArtifactUpdate {
  readonly contextId: string
}

export type SendResult = { readonly task: Task } | { readonly message: A2a.Message }

export type StreamResponse =
  | SendResult
  | { readonly statusUpdate: StatusUpdate }
  | { readonly artifactUpdate: ArtifactUpdate }

export interface TaskList extends A2a.TaskPage {
  readonly tasks: readonly Task[]
  readonly pageSize: number
  readonly totalSize: number
}

export interface PushConfigRequest extends A2a.PushConfigRequest {
  readonly taskId?: string | undefined
}

export interface PushConfigList {
  readonly configs: readonly A2a.PushConfig[]
  readonly nextPageToken: string
}

/** An A2A extension that the agent supports. */
export interface AgentExtension {
  readonly uri: string
  readonly description?: string
  readonly required?: true
  readonly params?: A2a.Metadata
}

/** A skill on an agent card. */
export interface AgentSkill {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly tags: readonly string[]
  readonly examples?: readonly string[]
  readonly inputModes?: readonly string[]
  readonly outputModes?: readonly string[]
}

/** An address of the agent, with its binding and version of A2A. */
export interface AgentInterface {
  readonly url: string
  readonly protocolBinding: A2a.BindingName
  /** Tenant that requests to this interface must set. */
  readonly tenant?: string
  readonly protocolVersion: A2a.A2aVersion
}

/** An A2A agent card: what an agent is, where it listens, and what it can do. */
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

/** A detached JWS of an agent card. */
export interface CardSignature {
  readonly protected: string
  readonly signature: string
}
