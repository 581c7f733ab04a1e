/** Events and messages of AG-UI 1.0, as far as Holdfast sends them. */

export const PROTOCOL_VERSION = '1.0'

export interface Interrupt {
  readonly id: string
  readonly reason: string
  readonly message: string
  readonly toolCallId?: string
  readonly responseSchema?: unknown
  readonly expiresAt?: string
  readonly subagentRunId?: string
  readonly metadata?: object
}

/** Clients read an unknown outcome as success, so there are no others. */
export type Outcome =
  | { readonly type: 'success'; readonly pendingToolCallIds?: readonly string[] }
  | { readonly type: 'interrupt'; readonly interrupts: readonly Interrupt[] }
  | { readonly type: 'cancelled' }

export interface TokenUsage {
  readonly provider?: string
  readonly model?: string
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly totalTokens?: number
  readonly reasoningTokens?: number
  readonly cachedInputTokens?: number
}

/** The actor that emits content, if it is not the agent itself. */
interface Attributed {
  readonly subagentRunId?: string
}

type Content<Type extends string, Fields> = { readonly type: Type } & Attributed & Fields

type TextPart = 'TEXT_MESSAGE' | 'REASONING_MESSAGE'

export type AgUiEvent =
  | RunStarted
  | RunFinished
  | {
      readonly type: 'RUN_ERROR'
      readonly message: string
      readonly code: string
      readonly usage?: readonly TokenUsage[]
    }
  | Content<'STEP_STARTED' | 'STEP_FINISHED', { readonly stepName: string }>
  | Content<'TEXT_MESSAGE_START', { readonly messageId: string; readonly role: 'assistant' }>
  | Content<'REASONING_MESSAGE_START', { readonly messageId: string; readonly role: 'reasoning' }>
  | Content<`${TextPart}_CONTENT`, { readonly messageId: string; readonly delta: string }>
  | Content<`${TextPart}_END` | 'REASONING_START' | 'REASONING_END', { readonly messageId: string }>
  | Content<'TOOL_CALL_START', { readonly toolCallId: string; readonly toolCallName: string }>
  | Content<'TOOL_CALL_ARGS', { readonly toolCallId: string; readonly delta: string }>
  | Content<'TOOL_CALL_END', { readonly toolCallId: string }>
  | Content<
      'TOOL_CALL_RESULT',
      { readonly messageId: string; readonly toolCallId: string; readonly content: string; readonly role: 'tool' }
    >
  | Content<'STATE_SNAPSHOT', { readonly snapshot: unknown }>
  | Content<'STATE_DELTA', { readonly delta: readonly unknown[] }>
  | { readonly type: 'MESSAGES_SNAPSHOT'; readonly messages: readonly AgUiMessage[] }
  | Content<'CUSTOM', { readonly name: string; readonly value: unknown }>
  | {
      readonly type: 'SUBAGENT_STARTED'
      readonly subagentRunId: string
      readonly name: string
      readonly parentSubagentRunId?: string
    }
  | {
      readonly type: 'SUBAGENT_FINISHED'
      readonly subagentRunId: string
      readonly result?: unknown
      readonly outcome?: { readonly type: 'success' | 'suspended' }
    }
  | { readonly type: 'SUBAGENT_ERROR'; readonly subagentRunId: string; readonly message: string; readonly code: string }

export interface RunStarted {
  readonly type: 'RUN_STARTED'
  readonly threadId: string
  readonly runId: string
  readonly protocolVersion: string
  readonly metadata: object
}

export interface RunFinished {
  readonly type: 'RUN_FINISHED'
  readonly threadId: string
  readonly runId: string
  readonly outcome: Outcome
  readonly result?: unknown
  readonly usage?: readonly TokenUsage[]
}

/** A message of the conversation. Additional fields of clients' messages are kept. */
export interface AgUiMessage extends Attributed {
  readonly id: string
  readonly role: string
  readonly content?: unknown
  readonly toolCalls?: readonly ToolCall[]
  readonly toolCallId?: string
}

export interface ToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}
