/** Converts UI messages to a conversation. */
import type { ContentPart, Message } from '../../../core/schema/conversation.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import type { UiMessage, UiPart } from './shapes.ts'

/** Messages since the last assistant message, which the session does not have yet. */
export function newMessages(messages: readonly UiMessage[]): readonly UiMessage[] {
  return messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1)
}

export function toMessages(messages: readonly UiMessage[]): Message[] {
  return messages.flatMap((message, position): Message[] => {
    switch (message.role) {
      case 'user':
        return [{ role: 'user', content: userContent(message, position) }]
      case 'assistant':
        return assistantMessages(message)
      case 'system':
        throw invalid(`messages.${position}: system messages are not accepted; only the agent defines instructions`)
    }
  })
}

/** The text parts of a message. */
export function textOf({ parts }: UiMessage): string {
  return parts.flatMap(({ type, text = '' }) => (type === 'text' ? [text] : [])).join('\n')
}

function userContent(message: UiMessage, position: number): Message['content'] {
  const { parts } = message
  if (parts.every(({ type }) => type !== 'file')) {
    const text = textOf(message)
    if (text === '') throw invalid(`messages.${position}: the message has no text and no file`)
    return text
  }
  return parts.flatMap((part, number): ContentPart[] => {
    if (part.type === 'text') return [{ type: 'text', text: part.text ?? '' }]
    return part.type === 'file' ? [filePart(part, `messages.${position}.parts.${number}`)] : []
  })
}

function filePart({ url = '', mediaType, filename }: UiPart, where: string): ContentPart {
  const name = filename === undefined ? {} : { filename }
  const [, type, data] = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[^,]*)?;base64,(.*)$/s.exec(url) ?? []
  const known = mediaType ?? type ?? 'application/octet-stream'
  if (data !== undefined) return { type: 'file', mediaType: known, data, ...name }
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) return { type: 'file', mediaType: known, data: url, ...name }
  throw invalid(`${where}.url must be an http(s) URL or a base64 data URL`)
}

/** Text and tool calls of an assistant message. Reasoning parts are dropped. */
function assistantMessages({ parts }: UiMessage): Message[] {
  const content: ContentPart[] = []
  const results: ContentPart[] = []
  for (const part of parts) {
    if (part.type === 'text' && part.text !== undefined && part.text !== '')
      content.push({ type: 'text', text: part.text })
    const output = outputOf(part)
    if (output === undefined) continue
    const call = { toolCallId: part.toolCallId!, toolName: toolNameOf(part) }
    content.push({ type: 'tool-call', ...call, input: part.input ?? {} })
    results.push({ type: 'tool-result', ...call, output })
  }
  if (content.length === 0) return []
  return [
    { role: 'assistant', content },
    ...(results.length === 0 ? [] : [{ role: 'tool', content: results } as const]),
  ]
}

type ToolOutput = Extract<ContentPart, { type: 'tool-result' }>['output']

/** Undefined if the part is not a call with a result. */
function outputOf(part: UiPart): ToolOutput | undefined {
  if (!isToolPart(part)) return undefined
  switch (part.state) {
    case 'output-available':
      return typeof part.output === 'string'
        ? { type: 'text', value: part.output }
        : { type: 'json', value: part.output ?? null }
    case 'output-error':
      return { type: 'error-text', value: part.errorText ?? 'the call failed' }
    case 'output-denied':
      return { type: 'error-text', value: part.approval?.reason ?? 'the call was not approved' }
    default:
      return undefined
  }
}

export function isToolPart({ type, toolCallId }: UiPart): boolean {
  return toolCallId !== undefined && (type === 'dynamic-tool' || type.startsWith('tool-'))
}

function toolNameOf({ type, toolName = '' }: UiPart): string {
  return type === 'dynamic-tool' ? toolName : type.slice('tool-'.length)
}

export function invalid(message: string): HoldfastError {
  return new HoldfastError('invalid_request', message)
}
