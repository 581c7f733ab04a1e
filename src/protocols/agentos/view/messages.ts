/** A run's conversation as a list of messages: input, text and tool calls. */
import type { ContentPart, Message as ToldMessage } from '../../../core/schema/conversation.ts'
import { piecesOf } from '../../../core/structure/text-pieces.ts'
import { userInputOf } from '../../../core/structure/user-input.ts'
import { asText } from '../wire/shapes.ts'
import { secondsOf, type Speaker } from './state.ts'
import { entriesOf } from './persistent-list.ts'

/** A message as clients see it. */
export interface ShownMessage {
  readonly id: string
  readonly role: 'user' | 'assistant' | 'tool'
  readonly content: string
  readonly created_at: number
  readonly tool_calls?: readonly { readonly id: string }[]
  readonly tool_call_id?: string
  readonly tool_name?: string
  readonly tool_call_error?: boolean
}

export interface Message {
  readonly shown: ShownMessage
  /** The same message for a model. */
  readonly told: ToldMessage
}

type Draft = Omit<ShownMessage, 'id' | 'created_at'> & { readonly created_at?: number }

type Call = Extract<ContentPart, { type: 'tool-call' }>

type Result = Extract<ContentPart, { type: 'tool-result' }>

type Part =
  | { readonly type: 'text'; readonly index: number; readonly text: string }
  | { readonly type: 'called'; readonly index: number; readonly call: Call }
  | { readonly type: 'ended'; readonly index: number; readonly result: Result; readonly time: string }

export function messagesOf(speaker: Speaker): ShownMessage[] {
  return conversationOf(speaker).map(({ shown }) => shown)
}

export function conversationOf(speaker: Speaker): Message[] {
  const created = secondsOf(speaker.startedAt)
  const messages: Message[] = []
  const push = (draft: Draft, told: ToldMessage): void => {
    messages.push({ shown: { id: `${speaker.run}-${messages.length}`, created_at: created, ...draft }, told })
  }
  for (const [draft, told] of inputMessages(speaker.input)) push(draft, told)
  let open: { text: string; calls: Call[] } | undefined
  const close = (): void => {
    if (open !== undefined) push(...assistantMessage(open.text, open.calls))
    open = undefined
  }
  for (const part of partsOf(speaker)) {
    if (part.type === 'ended') {
      close()
      const [draft, told] = toolMessage(part.result)
      push({ ...draft, created_at: secondsOf(part.time) }, told)
      continue
    }
    // Text after tool calls belongs to the next model response.
    if (part.type === 'text' && open !== undefined && open.calls.length > 0) close()
    open ??= { text: '', calls: [] }
    if (part.type === 'text') open.text += part.text
    else open.calls.push(part.call)
  }
  close()
  return messages
}

/** The messages of an input: one, or a whole conversation. */
function inputMessages(input: unknown): (readonly [Draft, ToldMessage])[] {
  const given = userInputOf(input)
  if (given === undefined) return []
  if ('messages' in given) return given.messages.flatMap(givenMessages)
  const files = given.files.map(({ mediaType, data, url, name }): ContentPart => ({
    type: 'file',
    mediaType,
    data: data ?? url ?? '',
    ...(name !== undefined && { filename: name }),
  }))
  const content = files.length === 0 ? given.text : [{ type: 'text', text: given.text } as const, ...files]
  return [
    [
      { role: 'user', content: asText(input) },
      { role: 'user', content },
    ],
  ]
}

function givenMessages(message: ToldMessage): (readonly [Draft, ToldMessage])[] {
  const parts = typeof message.content === 'string' ? [] : message.content
  const text = typeof message.content === 'string' ? message.content : textOf(parts)
  switch (message.role) {
    case 'user':
      return [[{ role: 'user', content: text }, message]]
    case 'assistant':
      return [assistantMessage(text, parts.filter((part): part is Call => part.type === 'tool-call'))] // prettier-ignore
    default:
      return parts.flatMap((part) => (part.type === 'tool-result' ? [toolMessage(part)] : []))
  }
}

export function textOf(parts: readonly ContentPart[]): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

function assistantMessage(text: string, calls: readonly Call[]): readonly [Draft, ToldMessage] {
  const shown = calls.map(({ toolCallId: id, toolName: name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: asText(input) },
  }))
  const content = [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...calls]
  return [
    { role: 'assistant', content: text, ...(shown.length > 0 && { tool_calls: shown }) },
    { role: 'assistant', content: calls.length === 0 ? text : content },
  ]
}

function toolMessage(result: Result): readonly [Draft, ToldMessage] {
  const { toolCallId: id, output } = result
  const failed = output.type === 'error-text'
  return [
    { role: 'tool', content: asText(output.value), tool_call_id: id, tool_call_error: failed },
    { role: 'tool', content: [result] },
  ]
}

function partsOf(speaker: Speaker): Part[] {
  const texts = piecesOf(speaker.texts).map(({ index, text }): Part => ({ type: 'text', index, text }))
  const names = new Map<string, string>()
  const called = entriesOf(speaker.calls).map(({ index, value }): Part => {
    const { call, name, input } = value
    names.set(call, name)
    return { type: 'called', index, call: { type: 'tool-call', toolCallId: call, toolName: name, input } }
  })
  const ended = entriesOf(speaker.results).map(({ index, value }): Part => {
    const { call, time, output, error } = value
    const result: Result = {
      type: 'tool-result',
      toolCallId: call,
      toolName: names.get(call) ?? 'tool',
      output: error === undefined ? valueOf(output) : { type: 'error-text', value: error.message },
    }
    return { type: 'ended', index, time, result }
  })
  return [...texts, ...called, ...ended].toSorted((left, right) => left.index - right.index)
}

function valueOf(output: unknown): Result['output'] {
  return typeof output === 'string' ? { type: 'text', value: output } : { type: 'json', value: output ?? null }
}

/** Whether every tool call among the first messages also has its result among them: models accept nothing else. */
export function isWholeAt(messages: readonly Message[], count: number): boolean {
  return wholeCountOf(messages, count) === count
}

/** The largest number of messages, up to `count`, in which every tool call has its result. */
export function wholeCountOf(messages: readonly Message[], count: number): number {
  const results = new Set(messages.slice(0, count).map(({ shown }) => shown.tool_call_id))
  const open = messages
    .slice(0, count)
    .findIndex(({ shown }) => shown.tool_calls?.some(({ id }) => !results.has(id)) === true)
  return open === -1 ? count : open
}
