/**
 * `holdfast`: define components, and serve them inside an application (`holdfast()`) or on a port (`createServer()`).
 *
 * Elsewhere: `holdfast/ai` has teams, MCP tools and scripted models, `holdfast/adapters` agents of other SDKs and servers, `holdfast/client` and
 * `holdfast/react` what a page needs, `holdfast/stores/sqlite`, `…/postgres`, `…/nats` and `…/memory` the stores.
 */

// Define components.
export { agent, type AgentDefinition, type TypedAgentDefinition } from './agents/agent.ts'
export type { ModelAgentDefinition } from './agents/model/agent.ts'
export type { CommonDefinition } from './agents/shared/component.ts'
export type {
  DescribedSchema,
  JsonSchema,
  JsonSchemaConverter,
  JsonSchemaTarget,
  SchemaIssue,
  SchemaResult,
  StandardIssue,
  StandardSchema,
  StandardSchemaProps,
  ValueSchema,
} from './core/ports/schema.ts'
export { fromJsonSchema } from './core/schema/json-schema.ts'
export { isolated, type IsolatedOptions } from './agents/isolated/component.ts'
export {
  type AnyWorkflowStep,
  type RouterChoice,
  type RouterFunction,
  type ComponentStep,
  condition,
  type ConditionNode,
  type StepConfirmation,
  type ConnectedSteps,
  type ConditionFunction,
  type FirstStepInput,
  type WorkflowContext,
  type FunctionStep,
  type StepInput,
  type LastStepOutput,
  loop,
  type LoopDefinition,
  type LoopContext,
  type LoopNode,
  type StepName,
  type StepErrorPolicy,
  type StepOutput,
  type StepOutputs,
  parallel,
  type ParallelNode,
  type StepQuestionOptions,
  type StepReview,
  router,
  type RouterNode,
  type SequenceNode,
  type SharedStepInput,
  step,
  type StepContext,
  type StepFunction,
  type StepNode,
  type WorkflowStepOptions,
  type StepQuestion,
  steps,
  type TypedStep,
  workflow,
  type Workflow,
  type WorkflowDefinition,
  type WorkflowNode,
  type WorkflowStep,
} from './agents/workflow/index.ts'
export {
  type AgentStream,
  type Ask,
  type AskOptions,
  type BusyPolicy,
  type CallOptions,
  type Component,
  type ComponentDescription,
  type ComponentKind,
  type DisconnectPolicy,
  type DivergencePolicy,
  type UnserializablePolicy,
  createEvent,
  type Emission,
  type HistoryMessage,
  type HistoryOptions,
  type ComponentMetadata,
  type PausePolicy,
  type RecoveryPolicy,
  RejectedError,
  type RunContext,
  type WorkDetails,
  type ContextStepOptions,
  type ToolAttempt,
  type ToolCall,
  type UncertainPolicy,
  type UpstreamInfo,
  WorkError,
} from './core/ports/component.ts'

// Events, errors, stores and limits.
export type { CallerCredential } from './core/model/caller-credential.ts'
export type {
  ComponentSource,
  Passthrough,
  ComponentOrSource,
  SourceHealth,
  SourceHost,
  SourceLoad,
} from './core/ports/component-source.ts'
export {
  type ErrorCode,
  errorTable,
  HoldfastError,
  type HoldfastErrorOptions,
  isHoldfastError,
} from './core/model/errors.ts'
export {
  type Actor,
  type Branch,
  type Event,
  type EventData,
  type EventEffect,
  type EventRule,
  eventTable,
  type EventType,
  type Failure,
  isTerminal,
  type LoggedEvent,
  type Question,
  type StepKind,
  type Suspect,
  type Usage,
  type WorkMarks,
} from './core/model/event.ts'
export type {
  Document,
  DocumentDraft,
  DocumentPage,
  DocumentPosition,
  DocumentQuery,
  Documents,
} from './core/model/document.ts'
export { defaultLimits, type Limits } from './core/model/limits.ts'
export type {
  PatternRedaction,
  Redaction,
  RedactHook,
  RedactOptions,
  RedactionSpan,
} from './core/redaction/redaction.ts'
export { redactions } from './core/redaction/redactions.ts'
export type { Run, RunStatus } from './core/model/run.ts'
export type { Store, StoredRun } from './core/ports/store.ts'
export type { OwnerUsage, SizedRun, StoredUsage } from './core/model/storage-usage.ts'
export type { StoredUIMessage } from './ai-sdk/view/history.ts'
export type { UIMessagePart } from './ai-sdk/view/ui-parts.ts'
export type { ChatOptions, Chats, LoadChatOptions } from './mount/chats.ts'

// Serve them: in an application, on a port, or as a worker.
export { type Handlers, type Holdfast, holdfast, type NodeHandler } from './mount/holdfast.ts'
export type { HoldfastOptions } from './mount/options.ts'
export type { FetchHandler } from './http/fetch/index.ts'
export { createServer, createWorker, openSqliteStore } from './server/lazy-entry-points.ts'
export type { OpenSqliteOptions } from './stores/sqlite/index.ts'
export type { HoldfastServer, ServerOptions } from './server/create-server.ts'
export type { HoldfastWorker, WorkerOptions } from './server/create-worker.ts'
export type { EngineOptions, StreamWebhooks } from './server/engine-options.ts'
export type { ProtocolChoice, ProtocolName } from './server/protocols/protocol-paths.ts'
export type { Authenticate } from './server/auth/host.ts'
export type { AuthOptions, JwtOptions } from './server/auth/index.ts'
export type { TlsOptions } from './server/certificate-files.ts'
export type {
  Authenticator,
  AuthScheme,
  Credential,
  CredentialInfo,
  HostRequest,
  Principal,
} from './core/model/principal.ts'
export type { AuditAction, AuditEntry, AuditSink } from './core/access/audit.ts'
export type { Clock, Ids } from './core/ports/clock.ts'
export type { Logger } from './core/ports/logger.ts'
export type { SecretBox } from './core/ports/secret-box.ts'
export type { AgentCardOptions, A2aOptions, CardSigner, PushOptions } from './protocols/a2a/index.ts'
export type { PushLimits } from './protocols/a2a/push/limits.ts'
export type { A2aErrorTable } from './protocols/a2a/wire/errors.ts'
export type { AgentCard, AgentExtension, AgentInterface, AgentSkill, CardSignature } from './protocols/a2a/wire/wire.ts'
export type { Client, RunHandle, Runs } from './client/index.ts'
export type { RetentionOverrides } from './server/retention/periods.ts'
export type { RetentionOptions } from './server/retention/retention.ts'
export { createMemoryStore } from './stores/memory.ts'
