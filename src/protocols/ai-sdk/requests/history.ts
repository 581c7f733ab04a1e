/** The messages of a chat as its logs have them, for pages that show what was said before. */
import type { ContentPart, Message } from '../../../core/model/conversation.ts'
import { isHoldfastError } from '../../../core/model/errors.ts'
import type { LoggedEvent } from '../../../core/model/event.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Run } from '../../../core/model/run.ts'
import type { Component } from '../../../core/ports/component.ts'
import type { Projection } from '../../../core/ports/projection.ts'
import { jsonBytes } from '../../../http/respond.ts'
import { foldRun } from '../../../http/view.ts'
import { newestChunks } from '../view/chunk-list.ts'
import { chatProjection } from '../view/projection.ts'
import type { ChatState } from '../view/state.ts'
import { toUiParts, type UiMessagePart } from '../view/ui-parts.ts'
import { toMessageId } from '../wire/ids.ts'
import type { Chats, ToolParts } from './chats.ts'

export interface ShownMessage {
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly parts: readonly UiMessagePart[]
  readonly metadata?: object
}

export interface ChatHistory {
  readonly messages: readonly ShownMessage[]
  /** There are earlier ones. */
  readonly hasMore: boolean
}

/** Runs per request. */
const RUNS_MAX = 100

/** The newest messages that fit into one response, oldest first. */
export async function historyOf(
  chats: Chats,
  principal: Principal,
  component: Component,
  { session, tools }: { readonly session: string; readonly tools: ToolParts },
): Promise<ChatHistory> {
  const { service } = chats
  const listed = await service.list(principal, { component: component.id, session, limit: RUNS_MAX })
  const byRun: { readonly run: Run; readonly messages: readonly ShownMessage[] }[] = []
  let bytesLeft = service.limits.responseBytesMax
  for (const { run, first } of listed.runs) {
    const messages = first > 0 ? [] : await messagesOf(chats, principal, run, tools)
    bytesLeft -= jsonBytes(messages)
    if (bytesLeft < 0 && byRun.length > 0) break
    byRun.unshift({ run, messages })
  }
  const hasMore = listed.cursor !== undefined || byRun.length < listed.runs.length
  return { messages: byRun.reduce(addRun, [] as readonly ShownMessage[]), hasMore }
}

/** A regenerated answer or an edited message replaces what followed it. */
function addRun(
  before: readonly ShownMessage[],
  { run, messages }: { readonly run: Run; readonly messages: readonly ShownMessage[] },
): readonly ShownMessage[] {
  const { rewrites = false } = (run.metadata?.['aiSdk'] ?? {}) as { readonly rewrites?: boolean }
  const at = rewrites ? before.findIndex(({ id }) => id === messages[0]?.id) : -1
  return [...(at < 0 ? before : before.slice(0, at)), ...messages]
}

async function messagesOf(
  { service }: Chats,
  principal: Principal,
  run: Run,
  tools: ToolParts,
): Promise<readonly ShownMessage[]> {
  try {
    const { chat, said } = await foldRun(service, principal, run.id, saidProjection(tools))
    return Array.from(said, ([leg, parts]) => pairOf(run, chat, leg, parts)).flat()
  } catch (cause) {
    if (isHoldfastError(cause, 'not_found')) return [] // removed meanwhile
    throw cause
  }
}

/** What the user said, and the answer. */
function pairOf(run: Run, chat: ChatState, leg: number, parts: readonly UiMessagePart[]): readonly ShownMessage[] {
  const { message: given } = (run.metadata?.['aiSdk'] ?? {}) as { readonly message?: string }
  const id = toMessageId({ run: run.id, leg })
  const nodes = newestChunks(chat.chunks, ({ message }) => message >= leg).filter(({ message }) => message === leg)
  const answer = toUiParts(nodes.map(({ chunk }) => chunk))
  return [
    { id: leg === 0 && given !== undefined ? given : id.replace('msg_', 'usr_'), role: 'user', parts },
    { id, role: 'assistant', parts: answer, metadata: { holdfast: { run: run.id, session: run.session } } },
  ]
}

interface Said {
  readonly chat: ChatState
  /** What the user said before each message, by the leg that began it. */
  readonly said: ReadonlyMap<number, readonly UiMessagePart[]>
}

function saidProjection(tools: ToolParts): Projection<Said, never> {
  const projection = chatProjection({ leg: 0, restart: 0, tools })
  return {
    initial: (run) => ({ chat: projection.initial(run), said: new Map() }),
    apply({ chat: before, said }, event) {
      const { state: chat } = projection.apply(before, event)
      const isNew = event.type === 'run.created' || chat.message.leg !== before.message.leg
      if (!isNew) return { state: { chat, said }, frames: [] }
      return { state: { chat, said: new Map(said).set(chat.message.leg, wordsIn(event)) }, frames: [] }
    },
  }
}

function wordsIn(event: LoggedEvent): readonly UiMessagePart[] {
  if (event.type === 'run.created') return partsOf(event.data.input)
  if (event.type !== 'run.resumed') return []
  return Object.values(event.data.answers).flatMap(partsOf)
}

/** A user's input in any of the forms that `inputFor` gives it. */
function partsOf(input: unknown): readonly UiMessagePart[] {
  if (typeof input === 'string') return [{ type: 'text', text: input }]
  const { messages, text, files } = (typeof input === 'object' && input !== null ? input : {}) as {
    readonly messages?: readonly Message[]
    readonly text?: string
    readonly files?: readonly { readonly mediaType: string; readonly data?: string; readonly url?: string }[]
  }
  if (Array.isArray(messages)) {
    const { content = '' } = messages.findLast(({ role }: Message) => role === 'user') ?? {}
    return typeof content === 'string' ? partsOf(content) : content.flatMap(contentPart)
  }
  if (typeof text !== 'string') return [{ type: 'text', text: JSON.stringify(input) }]
  const attached = (files ?? []).map(({ mediaType, data, url = '' }) => filePart(mediaType, data ?? url))
  return [...attached, { type: 'text', text }]
}

function contentPart(part: ContentPart): UiMessagePart[] {
  if (part.type === 'text') return [{ type: 'text', text: part.text }]
  return part.type === 'file' ? [filePart(part.mediaType, part.data)] : []
}

function filePart(mediaType: string, data: string): UiMessagePart {
  return { type: 'file', mediaType, url: /^https?:/i.test(data) ? data : `data:${mediaType};base64,${data}` }
}
