/** The request to a chat completions upstream: a chat client's own body, or one made of a run's input and history. */
import type { CallerOptions } from '../../core/model/caller-options.ts'
import type { RunContext } from '../../core/ports/component.ts'
import { textOf } from '../shared/text-of.ts'

export type ChatMessage = Readonly<Record<string, unknown>>
export type ChatBody = Readonly<Record<string, unknown>> & { readonly messages: readonly ChatMessage[] }

/** Input of a run that a chat client started: its request, unchanged. */
export interface ForwardedChat {
  readonly chat: ChatBody
}

export function isForwarded(input: unknown): input is ForwardedChat {
  const { chat } = objectOf(input) as { chat?: unknown }
  return Array.isArray(objectOf(chat)['messages'])
}

/** Fields of a request that concern this server. */
const OWN = new Set(['store', 'metadata'])

/** The request body for the upstream, except its model and stream options. `isStateful`: the upstream keeps the session itself. */
export async function chatBody(input: unknown, context: RunContext, isStateful: boolean): Promise<ChatBody> {
  if (isForwarded(input)) {
    const { messages, ...rest } = input.chat
    return { ...Object.fromEntries(Object.entries(rest).filter(([name]) => !OWN.has(name))), messages }
  }
  const {
    messages,
    caller = {},
    continues,
  } = objectOf(input) as {
    readonly messages?: readonly SdkMessage[]
    readonly caller?: CallerOptions
    readonly continues?: boolean
  }
  const isWhole = messages !== undefined && continues !== true
  const history = isStateful || isWhole ? [] : await context.history()
  return {
    ...optionsOf(caller),
    messages: [
      ...(caller.instructions === undefined ? [] : [{ role: 'system', content: caller.instructions }]),
      ...history.map(({ role, content }) => ({ role, content })),
      ...(messages?.flatMap(messageOf) ?? [{ role: 'user', content: contentOf(input) }]),
    ],
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}

interface SdkPart {
  readonly type: string
  readonly text?: string
  readonly mediaType?: string
  readonly data?: string
  readonly toolCallId?: string
  readonly toolName?: string
  readonly input?: unknown
  readonly output?: { readonly value?: unknown }
}

interface SdkMessage {
  readonly role: 'user' | 'assistant' | 'tool'
  readonly content: string | readonly SdkPart[]
}

function messageOf({ role, content }: SdkMessage): ChatMessage[] {
  if (typeof content === 'string') return [{ role, content }]
  if (role === 'tool')
    return content.map(({ toolCallId, output }) => ({
      role,
      tool_call_id: toolCallId,
      content: typeof output?.value === 'string' ? output.value : JSON.stringify(output?.value ?? null),
    }))
  const calls = content.filter(({ type }) => type === 'tool-call')
  if (role === 'user') return [{ role, content: content.map(partOf) }]
  const text = content.map((part) => part.text ?? '').join('')
  return [{ role, content: text, ...(calls.length > 0 && { tool_calls: calls.map(callOf) }) }]
}

function callOf({ toolCallId: id, toolName: name, input }: SdkPart): object {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input ?? {}) } }
}

function partOf({ type, text, mediaType = '', data = '' }: SdkPart): object {
  if (type === 'text') return { type, text }
  const url = /^https?:/i.test(data) ? data : `data:${mediaType};base64,${data}`
  if (mediaType.startsWith('image')) return { type: 'image_url', image_url: { url } }
  if (mediaType.startsWith('audio'))
    return { type: 'input_audio', input_audio: { data, format: mediaType.endsWith('wav') ? 'wav' : 'mp3' } }
  return { type: 'file', file: { file_data: url } }
}

/** Text, with files as parts. */
function contentOf(input: unknown): string | object[] {
  const { files } = objectOf(input) as { files?: unknown }
  if (!Array.isArray(files)) return textOf(input)
  const given = files as readonly { readonly mediaType: string; readonly data?: string; readonly url?: string }[]
  const parts = given.map(({ mediaType, data, url }) => partOf({ type: 'file', mediaType, data: data ?? url ?? '' }))
  return [{ type: 'text', text: textOf(input) }, ...parts]
}

function optionsOf({ tools, toolChoice, output, settings = {} }: CallerOptions): object {
  const { maxOutputTokens, temperature, topP, presencePenalty, frequencyPenalty, stopSequences, seed } = settings
  const named = {
    max_tokens: maxOutputTokens,
    temperature,
    top_p: topP,
    presence_penalty: presencePenalty,
    frequency_penalty: frequencyPenalty,
    stop: stopSequences,
    seed,
    tools: tools?.map((each) => ({ type: 'function', function: each })),
    tool_choice:
      typeof toolChoice === 'object' ? { type: 'function', function: { name: toolChoice.tool } } : toolChoice,
    response_format:
      output === undefined ? undefined : { type: 'json_schema', json_schema: { name: 'answer', schema: output } },
  }
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined))
}
