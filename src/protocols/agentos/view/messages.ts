/** A run's conversation as a list of messages: input, text and tool calls. */
import { piecesOf } from '../../../core/structure/text-pieces.ts'
import { asText } from '../wire/shapes.ts'
import { secondsOf, type Speaker } from './state.ts'
import { entriesOf } from './persistent-list.ts'

export interface Message {
  readonly id: string
  readonly role: 'user' | 'assistant' | 'tool'
  readonly content: string
  readonly created_at: number
  readonly tool_calls?: readonly object[]
  readonly tool_call_id?: string
  readonly tool_name?: string
  readonly tool_call_error?: boolean
  /** Log index of its last event. */
  readonly log: number
}

type Part =
  | { readonly type: 'text'; readonly index: number; readonly text: string }
  | { readonly type: 'called'; readonly index: number; readonly call: object }
  | { readonly type: 'ended'; readonly index: number; readonly message: Omit<Message, 'id' | 'log'> }

/** Without internal fields. */
export function messagesOf(speaker: Speaker): object[] {
  return conversationOf(speaker).map(({ log: _log, ...message }) => message)
}

export function conversationOf(speaker: Speaker): Message[] {
  const created = secondsOf(speaker.startedAt)
  const messages: Message[] = []
  const push = (message: Omit<Message, 'id' | 'log'>, log: number): void => {
    messages.push({ id: `${speaker.run}-${messages.length}`, ...message, log })
  }
  if (speaker.input !== undefined) push({ role: 'user', content: asText(speaker.input), created_at: created }, 0)
  let open: { text: string; calls: object[]; log: number } | undefined
  const close = (): void => {
    if (open === undefined) return
    const calls = open.calls.length > 0 ? { tool_calls: open.calls } : {}
    push({ role: 'assistant', content: open.text, created_at: created, ...calls }, open.log)
    open = undefined
  }
  for (const part of partsOf(speaker)) {
    if (part.type === 'ended') {
      close()
      push(part.message, part.index)
      continue
    }
    // Text after tool calls belongs to the next model turn.
    if (part.type === 'text' && open !== undefined && open.calls.length > 0) close()
    open ??= { text: '', calls: [], log: part.index }
    open.log = part.index
    if (part.type === 'text') open.text += part.text
    else open.calls.push(part.call)
  }
  close()
  return messages
}

function partsOf(speaker: Speaker): Part[] {
  const texts = piecesOf(speaker.texts).map(({ index, text }): Part => ({ type: 'text', index, text }))
  const called = entriesOf(speaker.calls).map(({ index, value }): Part => {
    const { call: id, name, input } = value
    return { type: 'called', index, call: { id, type: 'function', function: { name, arguments: asText(input) } } }
  })
  const ended = entriesOf(speaker.results).map(({ index, value }): Part => {
    const { call, time, output, error } = value
    const content = error === undefined ? asText(output) : error.message
    const tool = { tool_call_id: call, tool_call_error: error !== undefined }
    return { type: 'ended', index, message: { role: 'tool', content, created_at: secondsOf(time), ...tool } }
  })
  return [...texts, ...called, ...ended].toSorted((left, right) => left.index - right.index)
}
