/** Holdfast as a library: define components, serve them. */
export { agent, type AgentDefinition, type TypedAgentDefinition } from './agents/agent.ts'
export type { ModelAgentDefinition } from './agents/model/agent.ts'
export type { DescribedSchema, JsonSchema, SchemaIssue, StandardSchema, ValueSchema } from './core/ports/schema.ts'
export { fromJsonSchema } from './core/schema/json-schema.ts'
export { isolated, type IsolatedOptions } from './agents/isolated/component.ts'
export {
  type AnyStep,
  type Choice,
  condition,
  type Confirmation,
  type FlowFacts,
  loop,
  type LoopFacts,
  type OnError,
  parallel,
  type Retry,
  type Review,
  router,
  step,
  type StepContext,
  type StepFunction,
  type StepOptions,
  type StepQuestion,
  steps,
  workflow,
  type Workflow,
  type WorkflowDefinition,
  type WorkflowStep,
} from './agents/workflow/index.ts'
export {
  type AgentStream,
  type AskOptions,
  type BusyPolicy,
  type CallOptions,
  type Component,
  type ComponentFacts,
  type ComponentKind,
  type DisconnectPolicy,
  type DivergencePolicy,
  type UnserializablePolicy,
  emit,
  type Emission,
  type HistoryMessage,
  type HistoryOptions,
  type ComponentInfo,
  type Recovery,
  RejectedError,
  type RunContext,
  type StepDetails,
  type StepCallOptions,
  type ToolAttempt,
  type ToolCall,
  type UncertainPolicy,
  WorkFailure,
} from './core/ports/component.ts'
export { type ErrorCode, errorTable, HoldfastError, isHoldfastError } from './core/model/errors.ts'
export {
  type Actor,
  type Event,
  type EventData,
  eventTable,
  type EventType,
  type Failure,
  isTerminal,
  type LoggedEvent,
  type Question,
  type Usage,
} from './core/model/event.ts'
export type { Document, DocumentDraft, DocumentPage, DocumentQuery, Documents } from './core/model/document.ts'
export { defaultLimits, type Limits } from './core/model/limits.ts'
export type { PatternRedaction, Redaction, RedactHook, RedactOptions, Span } from './core/redaction/redaction.ts'
export { redactions } from './core/redaction/redactions.ts'
export type { Run, RunStatus } from './core/model/run.ts'
export type { Store, StoredRun } from './core/ports/store.ts'
export type { OwnerUsage, SizedRun, StoredUsage } from './core/model/storage-usage.ts'
export type { ShownMessage } from './ai-sdk/view/history.ts'
export type { UiMessagePart } from './ai-sdk/view/ui-parts.ts'
export type { ChatOptions, Chats, LoadChatOptions } from './mount/chats.ts'
export { type Handlers, type Holdfast, holdfast, type NodeHandler } from './mount/holdfast.ts'
export type { HoldfastOptions } from './mount/options.ts'
export type { FetchHandler } from './http/fetch/index.ts'
export { createServer, openSqliteStore } from './server/loaded-on-use.ts'
export type { Server, ServerOptions } from './server/create-server.ts'
export type { EngineOptions } from './server/engine-options.ts'
export type { ProtocolChoice, ProtocolName } from './server/protocol-paths.ts'
export type { Authenticate } from './server/auth/host.ts'
export type { AuthOptions, JwtOptions } from './server/auth/index.ts'
export type { TlsOptions } from './server/certificate-files.ts'
export type {
  Authenticator,
  AuthScheme,
  Credential,
  CredentialFacts,
  HostRequest,
  Principal,
} from './core/model/principal.ts'
export type { AuditAction, AuditEntry, AuditSink } from './core/access/audit.ts'
export type { Clock, Ids } from './core/ports/clock.ts'
export type { Logger } from './core/ports/logger.ts'
export type { SecretBox } from './core/ports/secret-box.ts'
export type { Service } from './core/service.ts'
export type { AgentCardOptions, A2aOptions, CardSigner, PushOptions } from './protocols/a2a/index.ts'
export type { Client, RunHandle, Runs } from './client/index.ts'
export type { RetentionOverrides } from './server/retention/periods.ts'
export type { RetentionOptions } from './server/retention/retention.ts'
export { openMemoryStore } from './stores/memory.ts'
