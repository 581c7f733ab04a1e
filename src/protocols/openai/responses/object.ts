/** The response object, with all required keys of the Open Responses schema from the first event on. */
import type { CallerOptions, CallerTool } from '../../../core/model/caller-options.ts'
import type { Usage } from '../../../core/model/event.ts'
import { textFrom } from '../../../core/structure/text-pieces.ts'
import { isAllSent } from '../view/reply.ts'
import { toConversationId, toItemId, toResponseId } from '../wire/ids.ts'
import { relayedResponse } from './relay.ts'
import type { OutputItem, ResponseState } from './state.ts'

export function toResponse(state: ResponseState): object {
  const relayed = relayedResponse(state)
  if (relayed !== undefined) return relayed
  const { reply, about, created, status, error, reason, waiting } = state
  const caller = callerIn(state.input)
  return {
    id: toResponseId(reply.part),
    object: 'response',
    ...DEFAULTS,
    ...about?.echo,
    created_at: created ?? 0,
    completed_at: state.completedAt,
    status,
    error: error === undefined ? null : { code: error.code, message: error.message },
    incomplete_details: reason === undefined ? null : { reason },
    instructions: caller.instructions ?? null,
    model: state.model,
    output: outputOf(state),
    previous_response_id: previousOf(state),
    tools: (caller.tools ?? []).map(toTool),
    text: textOf(about?.echo?.['text'], caller),
    usage: toUsage(reply.usage),
    store: about?.store ?? true,
    background: about?.background ?? false,
    metadata: stringsOf(state.metadata),
    user: about?.user ?? null,
    conversation: about?.conversation === true ? { id: toConversationId(state.session) } : null,
    ...(waiting.length > 0 && { holdfast: { waiting } }),
  }
}

const DEFAULTS = {
  parallel_tool_calls: true,
  tool_choice: 'auto',
  max_tool_calls: null,
  max_output_tokens: null,
  truncation: 'disabled',
  reasoning: null,
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  service_tier: 'default',
  safety_identifier: null,
  prompt_cache_key: null,
}

function callerIn(input: unknown): CallerOptions {
  return (input as { caller?: CallerOptions } | null | undefined)?.caller ?? {}
}

/**
 * The items of the stream. If the agent retracted text, its messages are replaced by one message with the remaining text.
 */
function outputOf({ reply, items, message }: ResponseState): readonly OutputItem[] {
  if (isAllSent(reply)) {
    if (message === undefined) return items
    const open = messageItem(items[message.index]!.id, 'in_progress', textFrom(reply.sent, message.start))
    return items.with(message.index, open)
  }
  const others = items.filter(({ type }) => type !== 'message')
  const id = toItemId('msg', reply.part, items.length)
  const text = textFrom(reply.textPieces)
  return text === '' ? others : [...others, messageItem(id, reply.isEnded ? 'completed' : 'in_progress', text)]
}

export function messageItem(
  id: string,
  status: 'in_progress' | 'completed' | 'incomplete',
  text: string | undefined,
): Extract<OutputItem, { type: 'message' }> {
  return { type: 'message', id, status, role: 'assistant', content: text === undefined ? [] : [textPart(text)] }
}

export function textPart(text: string): object {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

function previousOf({ reply, about }: ResponseState): string | null {
  const { run, number } = reply.part
  return number > 0 ? toResponseId({ run, number: number - 1 }) : (about?.previous ?? null)
}

function toTool({ name, description, parameters }: CallerTool): object {
  return { type: 'function', name, description: description ?? null, parameters: parameters ?? null, strict: null }
}

/** The schema comes from the component's input, to avoid storing it twice. */
function textOf(echo: unknown, { output }: CallerOptions): object {
  const { format, ...rest } = (echo ?? {}) as { format?: { type?: string } }
  if (format?.type !== 'json_schema') return { ...rest, format: format ?? { type: 'text' } }
  return { ...rest, format: { ...format, schema: output ?? {} } }
}

/** Null unless input and output tokens were measured. */
function toUsage(usage: Usage | undefined): object | null {
  if (usage?.inputTokens === undefined || usage.outputTokens === undefined) return null
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedInputTokens ?? 0 },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
    total_tokens: usage.inputTokens + usage.outputTokens,
  }
}

/** Metadata from other protocols may have any values. */
function stringsOf(metadata: Readonly<Record<string, unknown>>): Record<string, string> {
  const entries = Object.entries(metadata)
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === 'string' ? value : (JSON.stringify(value) ?? '')]),
  )
}
