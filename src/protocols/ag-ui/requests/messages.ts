/** Converts messages of this protocol to a conversation. */
import type { CallerOptions } from '../../../core/model/caller-options.ts'
import type { ContentPart, Message } from '../../../core/schema/conversation.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import type { GivenMessage, MessagePart, RunBody } from './shapes.ts'

/** Messages since the last assistant message, which the session does not have yet. */
export function newMessages(messages: readonly GivenMessage[]): readonly GivenMessage[] {
  return messages.slice(messages.findLastIndex(({ role }) => role === 'assistant' || role === 'tool') + 1)
}

/** Drops reasoning and activities. Instructions become options of the caller. */
export function toMessages(messages: readonly GivenMessage[]): Message[] {
  const names = new Map(
    messages.flatMap(({ toolCalls = [] }) => toolCalls.map((call) => [call.id, call.function.name])),
  )
  return messages.flatMap((message, position): Message[] => {
    switch (message.role) {
      case 'user':
        return [{ role: 'user', content: userContent(message, position) }]
      case 'assistant':
        return assistantMessage(message)
      case 'tool':
        return [{ role: 'tool', content: [resultOf(message, names, position)] }]
      default:
        return []
    }
  })
}

export function callerOptionsOf({ messages, tools = [], context = [] }: RunBody): CallerOptions {
  const given = messages.flatMap((message) =>
    message.role === 'system' || message.role === 'developer' ? [textOf(message)] : [],
  )
  const instructions = [...given, ...context.map(({ description, value }) => `${description}:\n${value}`)]
  return {
    ...(instructions.length > 0 && { instructions: instructions.join('\n\n') }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        name,
        ...(description !== undefined && { description }),
        ...(parameters !== undefined && { parameters }),
      })),
    }),
  }
}

export function textOf({ content }: Pick<GivenMessage, 'content'>): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : [])).join('\n')
}

function userContent({ content }: GivenMessage, position: number): Message['content'] {
  if (!Array.isArray(content)) return textOf({ content })
  return content.map((part, number) => contentPart(part, `messages.${position}.content.${number}`))
}

function contentPart({ type, text, source }: MessagePart, where: string): ContentPart {
  if (type === 'text' && text !== undefined) return { type: 'text', text }
  if (source === undefined) throw invalid(`${where}: a part must have a text or a source`)
  const { type: kind, value: data, mimeType: mediaType = MEDIA_TYPES.get(type) ?? 'application/octet-stream' } = source
  if (kind === 'data') return { type: 'file', mediaType, data }
  if (kind === 'url' && /^https?:\/\//i.test(data) && URL.canParse(data)) return { type: 'file', mediaType, data }
  throw invalid(`${where}.source: must be data, or an http(s) URL`)
}

const MEDIA_TYPES: ReadonlyMap<string, string> = new Map([
  ['image', 'image/*'],
  ['audio', 'audio/*'],
  ['video', 'video/*'],
])

function assistantMessage(message: GivenMessage): Message[] {
  const text = textOf(message)
  const calls = (message.toolCalls ?? []).map((call): ContentPart => ({
    type: 'tool-call',
    toolCallId: call.id,
    toolName: call.function.name,
    input: parsed(call.function.arguments),
  }))
  const content: ContentPart[] = [...(text === '' ? [] : [{ type: 'text', text } as const]), ...calls]
  return content.length === 0 ? [] : [{ role: 'assistant', content }]
}

function resultOf(message: GivenMessage, names: ReadonlyMap<string, string>, position: number): ContentPart {
  const { toolCallId, error } = message
  if (toolCallId === undefined) throw invalid(`messages.${position}.toolCallId: a tool message must name its call`)
  const toolName = names.get(toolCallId) ?? 'tool'
  const type = error === undefined ? 'text' : 'error-text'
  return { type: 'tool-result', toolCallId, toolName, output: { type, value: textOf(message) || (error ?? '') } }
}

/** Arguments and results should be JSON; anything else is kept as text. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export function invalid(message: string): HoldfastError {
  return new HoldfastError('invalid_request', message)
}
