/** Chat completions as servers stream them: the fields that Holdfast reads. Others are kept with the event. */
import { WorkError } from '../../core/ports/component.ts'
import { messageOf } from '../../core/model/errors.ts'
import { JsonText } from '../../core/model/json-text.ts'
import type { ParsedEvent } from '../../sse/parse.ts'

export interface ToolCallDelta {
  readonly index?: number
  readonly id?: string
  readonly function?: { readonly name?: string; readonly arguments?: string }
}

export interface ChatDelta {
  readonly content?: unknown
  readonly reasoning_content?: unknown
  readonly reasoning?: unknown
  readonly refusal?: unknown
  readonly tool_calls?: readonly ToolCallDelta[] | null
}

export interface ChatChoice {
  readonly index?: number
  readonly delta?: ChatDelta | null
  readonly message?: ChatDelta | null
  readonly finish_reason?: string | null
}

export interface ChatUsage {
  readonly prompt_tokens?: number
  readonly completion_tokens?: number
  readonly total_tokens?: number
  readonly prompt_tokens_details?: { readonly cached_tokens?: number } | null
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number } | null
}

export interface ChatChunk {
  readonly model?: string
  readonly choices?: readonly ChatChoice[] | null
  readonly usage?: ChatUsage | null
  readonly error?: unknown
}

/** An event of the stream: a chunk, the end, or an event with a name of the server's own. */
export type ChatEvent =
  /** `received`: the unchanged chunk, for the log. */
  | { readonly kind: 'chunk'; readonly chunk: ChatChunk; readonly received: unknown }
  | { readonly kind: 'named'; readonly name: string; readonly value: unknown }
  | { readonly kind: 'done' }

export const CHUNK = 'chat.completion.chunk'

export function parseChatEvent({ event, data }: ParsedEvent): ChatEvent {
  if (data.trim() === '[DONE]') return { kind: 'done' }
  if (event === 'message' || event === CHUNK) {
    const chunk = chunkIn(data)
    return { kind: 'chunk', chunk, received: new JsonText(data, chunk) }
  }
  if (event === 'error') {
    const chunk = { error: valueIn(data) }
    return { kind: 'chunk', chunk, received: chunk }
  }
  return { kind: 'named', name: event, value: valueIn(data) }
}

/** A response that is not streamed, as a chunk. */
export function wholeChunk(completion: ChatChunk): ChatChunk {
  const { choices, ...rest } = completion
  return { ...rest, choices: (choices ?? []).map(asDelta) }
}

function asDelta({ message, ...choice }: ChatChoice): ChatChoice {
  return { ...choice, delta: message ?? {} }
}

function chunkIn(data: string): ChatChunk {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch (thrown) {
    throw violation(`an event that is not JSON (${messageOf(thrown)})`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw violation('an event that is not an object')
  const { choices, error, usage } = value as ChatChunk
  if (choices === undefined && error === undefined && usage === undefined)
    throw violation('an event that is neither a chunk nor an error')
  return value
}

/** JSON, or the text itself if it is not JSON: custom events have no known format. */
function valueIn(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return data
  }
}

function violation(what: string): WorkError {
  return new WorkError({ code: 'upstream_protocol_error', message: `the upstream sent ${what}` })
}
