/** Client for A2A 1.0 and 0.3 agents, with streams that resume after disconnects. */
export type { PushConfigKey } from './binding.ts'
export { type A2aInterface } from './card.ts'
export {
  A2aClient,
  type A2aClientOptions,
  type A2aCallOptions,
  type A2aFollowOptions,
  type OutgoingMessage,
  type A2aSendOptions,
  type A2aStreamOptions,
  type A2aSubscribeOptions,
} from './client.ts'
export { A2aError, type A2aErrorCode, type A2aErrorOptions, ProtocolError } from './errors.ts'
export { ApiError, ClientError, ConnectionError } from '../client/errors.ts'
export type { HeaderRecord, HeaderSource } from '../client/header-source.ts'
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
  type TaskUpdate,
  type A2aVersion,
} from './types.ts'
