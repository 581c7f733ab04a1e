/** Converts chat completion messages to a conversation. */
import type { CallerOptions } from '../../../core/model/caller-options.ts'
import type { ContentPart, Conversation, Message } from '../../../core/schema/conversation.ts'
import { callerOptionsOf, callInput, filePart, imagePart, plainText, settingsOf } from '../requests/input.ts'
import type { CallerResult } from '../requests/caller-results.ts'
import { unsupported } from '../wire/errors.ts'
import type { CompletionBody, ChatMessage } from './shapes.ts'

type OfRole<Role extends ChatMessage['role']> = Extract<ChatMessage, { role: Role }>

export function toConversation(body: CompletionBody, isContinued: boolean): Conversation {
  const { messages, tools, tool_choice: choice, response_format: format, stop } = body
  const instructions = messages.flatMap((message) =>
    message.role === 'system' || message.role === 'developer' ? [plainText(message.content)] : [],
  )
  return {
    messages: conversationIn(isContinued ? newOf(messages) : messages),
    caller: callerOptionsOf({
      instructions: instructions.length === 0 ? undefined : instructions.join('\n\n'),
      tools: tools?.map(({ function: { name, description, parameters } }) => ({
        name,
        ...(description !== undefined && { description }),
        ...(parameters !== undefined && { parameters }),
      })),
      toolChoice: typeof choice === 'object' ? { tool: choice.function.name } : choice,
      output: outputOf(format),
      settings: settingsOf({
        temperature: body.temperature,
        topP: body.top_p,
        presencePenalty: body.presence_penalty,
        frequencyPenalty: body.frequency_penalty,
        maxOutputTokens: body.max_completion_tokens ?? body.max_tokens,
        seed: body.seed,
        stopSequences: typeof stop === 'string' ? [stop] : stop,
      }),
    }),
  }
}

function outputOf(format: CompletionBody['response_format']): CallerOptions['output'] {
  if (format?.type === 'json_object') return { type: 'object' }
  return format?.type === 'json_schema' ? (format.json_schema.schema ?? { type: 'object' }) : undefined
}

/** Messages since the last assistant message, which the session does not have yet. */
function newOf(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1)
}

/** Trailing tool results, if any. */
export function resultsIn(messages: readonly ChatMessage[]): readonly CallerResult[] {
  const since = messages.slice(messages.findLastIndex(({ role }) => role !== 'tool') + 1) as OfRole<'tool'>[]
  return since.map((message) => ({ callId: message.tool_call_id, output: plainText(message.content) }))
}

function conversationIn(messages: readonly ChatMessage[]): Message[] {
  const names = new Map<string, string>()
  return messages.flatMap((message, position): Message[] => {
    switch (message.role) {
      case 'user':
        return [{ role: 'user', content: userContent(message.content, `messages.${position}.content`) }]
      case 'assistant':
        for (const { id, function: called } of message.tool_calls ?? []) names.set(id, called.name)
        return [{ role: 'assistant', content: assistantContent(message) }]
      case 'tool':
        return [{ role: 'tool', content: [toolResult(message, names)] }]
      default:
        return []
    }
  })
}

function userContent(content: OfRole<'user'>['content'], param: string): Message['content'] {
  if (typeof content === 'string') return content
  return content.map((part, position): ContentPart => {
    const where = `${param}.${position}`
    switch (part.type) {
      case 'text':
        return { type: 'text', text: part.text }
      case 'image_url':
        return imagePart(part.image_url.url, `${where}.image_url.url`)
      case 'input_audio': {
        const { data, format } = part.input_audio
        return { type: 'file', mediaType: format === 'wav' ? 'audio/wav' : 'audio/mpeg', data }
      }
      case 'file': {
        const { file_data: data, filename } = part.file
        if (data === undefined)
          throw unsupported('uploaded files are not supported; send the file in base64 as file_data', `${where}.file`)
        return filePart({ data, ...(filename !== undefined && { name: filename }) }, `${where}.file`)
      }
    }
  })
}

function assistantContent({ content, tool_calls: calls }: OfRole<'assistant'>): Message['content'] {
  const text = content === undefined ? '' : plainText(content)
  if (calls === undefined || calls.length === 0) return text
  return [
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...calls.map(({ id, function: { name, arguments: input } }) => ({
      type: 'tool-call' as const,
      toolCallId: id,
      toolName: name,
      input: callInput(input),
    })),
  ]
}

function toolResult({ tool_call_id: id, content }: OfRole<'tool'>, names: ReadonlyMap<string, string>): ContentPart {
  return {
    type: 'tool-result',
    toolCallId: id,
    toolName: names.get(id) ?? 'tool',
    output: { type: 'text', value: plainText(content) },
  }
}
