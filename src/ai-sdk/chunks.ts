/**
 * Chunks of the AI SDK's UI message stream, with the fields that Holdfast uses. A client fails on an unknown `type`, so Holdfast's
 * own chunks are all `data-*`.
 */

export type FinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'interrupted' | 'other'

export type Chunk =
  | { readonly type: 'start'; readonly messageId: string; readonly messageMetadata: object }
  | { readonly type: 'start-step' | 'finish-step' | 'reset-step' }
  | { readonly type: TextType<'start' | 'end'>; readonly id: string }
  | { readonly type: TextType<'delta'>; readonly id: string; readonly delta: string }
  | ({ readonly type: 'tool-input-start' } & ToolHead)
  | { readonly type: 'tool-input-delta'; readonly toolCallId: string; readonly inputTextDelta: string }
  | ({ readonly type: 'tool-input-available'; readonly input: unknown } & ToolHead)
  | ({ readonly type: 'tool-input-error'; readonly input: unknown; readonly errorText: string } & ToolHead)
  | {
      readonly type: 'tool-approval-request'
      readonly approvalId: string
      readonly toolCallId: string
      readonly reason?: string
      readonly approvalDescriptor?: unknown
      readonly inputSchemaInput?: unknown
      readonly isAutomatic?: boolean
      readonly signature?: string
    }
  | {
      readonly type: 'tool-approval-response'
      readonly approvalId: string
      readonly approved: boolean
      readonly reason?: string
    }
  | {
      readonly type: 'tool-output-available'
      readonly toolCallId: string
      readonly output: unknown
      readonly dynamic?: true
      readonly preliminary?: true
    }
  | {
      readonly type: 'tool-output-error'
      readonly toolCallId: string
      readonly errorText: string
      readonly dynamic?: true
    }
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
  | { readonly type: 'source-url'; readonly sourceId: string; readonly url: string; readonly title?: string }
  | {
      readonly type: 'source-document'
      readonly sourceId: string
      readonly mediaType: string
      readonly title: string
    }
  | { readonly type: 'file' | 'reasoning-file'; readonly url: string; readonly mediaType: string }
  | { readonly type: 'custom'; readonly kind: string }
  | { readonly type: 'steering-message'; readonly id: string; readonly parts: readonly unknown[] }
  | { readonly type: `data-${string}`; readonly id?: string; readonly data: unknown }
  | { readonly type: 'message-metadata'; readonly messageMetadata: unknown }
  | { readonly type: 'error'; readonly errorText: string }
  | { readonly type: 'abort'; readonly reason?: string }
  | { readonly type: 'finish'; readonly finishReason: FinishReason; readonly messageMetadata?: unknown }

export type TextType<Part extends 'start' | 'delta' | 'end'> = `${'text' | 'reasoning'}-${Part}`

interface ToolHead {
  readonly toolCallId: string
  readonly toolName: string
  readonly dynamic?: true
}

/** Chunks that belong to a tool call. */
export function toolCallOf(chunk: Chunk): string | undefined {
  return 'toolCallId' in chunk ? chunk.toolCallId : undefined
}
