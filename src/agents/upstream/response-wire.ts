/** Events of the Responses API as servers stream them: the fields that Holdfast reads. Others are kept with the event. */
import { WorkError } from '../../core/ports/component.ts'
import { messageOf } from '../../core/model/errors.ts'
import type { ParsedEvent } from '../../sse/parse.ts'

export interface UpstreamUsage {
  readonly input_tokens?: number
  readonly output_tokens?: number
  readonly total_tokens?: number
  readonly input_tokens_details?: { readonly cached_tokens?: number } | null
  readonly output_tokens_details?: { readonly reasoning_tokens?: number } | null
}

export interface UpstreamResponse {
  readonly id?: unknown
  readonly model?: unknown
  readonly usage?: UpstreamUsage | null
  readonly error?: unknown
  readonly incomplete_details?: { readonly reason?: unknown } | null
}

export interface UpstreamResponseEvent {
  readonly type: string
  readonly sequence_number?: number
  readonly response?: UpstreamResponse
  readonly output_index?: number
  readonly delta?: string
  readonly item?: Readonly<Record<string, unknown>>
  readonly error?: unknown
  readonly message?: unknown
}

/** Undefined at the end of the stream. */
export function parseResponseEvent({ data }: ParsedEvent): UpstreamResponseEvent | undefined {
  if (data.trim() === '[DONE]') return undefined
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch (thrown) {
    throw violation(`an event that is not JSON (${messageOf(thrown)})`)
  }
  const { type, error } = (typeof value === 'object' && value !== null ? value : {}) as Partial<UpstreamResponseEvent>
  if (typeof type === 'string') return value as UpstreamResponseEvent
  if (error !== undefined) return { ...(value as object), type: 'error' }
  throw violation('an event without a type')
}

function violation(what: string): WorkError {
  return new WorkError({ code: 'upstream_protocol_error', message: `the upstream sent ${what}` })
}
