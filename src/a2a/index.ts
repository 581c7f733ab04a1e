/** Client for A2A 1.0 and 0.3 agents, with streams that resume after disconnects. */
export type { PushConfigKey } from './binding.ts'
export { type Interface } from './card.ts'
export {
  A2aClient,
  type A2aClientOptions,
  type CallSettings,
  type FollowSettings,
  type OutgoingMessage,
  type SendSettings,
  type StreamSettings,
  type SubscribeSettings,
} from './client.ts'
export { A2aError, type A2aErrorCode, type A2aErrorOptions, ProtocolError } from './errors.ts'
export { ApiError, ClientError, ConnectionError } from '../client/errors.ts'
export type { HeaderSource, HeaderValues } from './exchange.ts'
export { RESUME_EXTENSION } from './resume.ts'
export type { TaskStream } from './task-stream.ts'
export {
  type AgentCard,
  type Artifact,
  type ArtifactUpdate,
  type BindingName,
  isEnded,
  isWaiting,
  type ListRequest,
  type Message,
  type Metadata,
  type Part,
  type PushConfig,
  type PushConfigRequest,
  type SendConfiguration,
  type SendRequest,
  type SendResult,
  type StatusUpdate,
  type Task,
  type TaskPage,
  type TaskState,
  type TaskStatus,
  textOf,
  type Update,
  type Version,
} from './types.ts'
