/** Folds the logs of a chat into its messages: the same that a client has after streaming all of them. */
import type { ContentPart } from '../../core/schema/conversation.ts'
import type { LoggedEvent } from '../../core/model/event.ts'
import type { Run } from '../../core/model/run.ts'
import { userInputOf } from '../../core/structure/user-input.ts'
import type { Projection } from '../../core/ports/projection.ts'
import type { Chunk } from '../chunks.ts'
import { toMessageId } from '../ids.ts'
import type { ChatView } from './chat-writer.ts'
import { type ChunkList, joinedChunks } from './chunk-list.ts'
import { chatProjection } from './projection.ts'
import type { ChatState } from './state.ts'
import { toUiParts, type UIMessagePart } from './ui-parts.ts'

/** A message of a chat, in the form of the AI SDK's `UIMessage`. */
export interface StoredUIMessage {
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly parts: readonly UIMessagePart[]
  readonly metadata?: unknown
}

/** What a start records about its user message. */
export interface MessageNote {
  readonly message?: string
  readonly metadata?: unknown
  /** The client regenerated a response or edited a message. */
  readonly rewrites?: boolean
}

/** Key of the `MessageNote` in a run's metadata. */
export const NOTE = 'aiSdk'

export interface UserMessagesState {
  readonly chat: ChatState
  /** The user's words before the newest message. */
  readonly words: UserWords | undefined
}

/** The user's words before a message. A linked list, because states share it: a run may have thousands of messages. */
interface UserWords {
  /** Number of the answer that started the message. */
  readonly leg: number
  readonly parts: readonly UIMessagePart[]
  /** The words before the previous message. */
  readonly earlier: UserWords | undefined
}

export function userMessagesProjection(tools: ChatView['tools']): Projection<UserMessagesState, never> {
  const projection = chatProjection({ leg: 0, restart: 0, tools })
  return {
    initial: (run) => ({ chat: projection.initial(run), words: undefined }),
    apply({ chat: before, words: earlier }, event) {
      const { state: chat } = projection.apply(before, event)
      const isNew = event.type === 'run.created' || chat.message.leg !== before.message.leg
      if (!isNew) return { state: { chat, words: earlier }, frames: [] }
      return { state: { chat, words: { leg: chat.message.leg, parts: wordsIn(event), earlier } }, frames: [] }
    },
  }
}

/** A message whose parts are not built yet: a run may continue the last message of the previous run. */
interface Draft {
  readonly id: string
  readonly role: StoredUIMessage['role']
  readonly parts: readonly UIMessagePart[]
  readonly chunks: readonly Chunk[]
  readonly metadata?: unknown
}

export interface RunMessages {
  readonly rewrites: boolean
  readonly drafts: readonly Draft[]
}

export function messagesOf(run: Run, { chat, words }: UserMessagesState): RunMessages {
  const note = (run.metadata?.[NOTE] ?? {}) as MessageNote
  const chunks = chunksByMessage(chat.chunks)
  const drafts = oldestFirst(words).flatMap(({ leg, parts }) =>
    pairOf(run, chat, leg, chunks.get(leg) ?? [], parts, note),
  )
  return { rewrites: note.rewrites === true, drafts }
}

function oldestFirst(newest: UserWords | undefined): readonly UserWords[] {
  const words: UserWords[] = []
  for (let each = newest; each !== undefined; each = each.earlier) words.push(each)
  return words.toReversed()
}

/** In one pass: a run may have thousands of messages. */
function chunksByMessage(list: ChunkList | undefined): ReadonlyMap<number, readonly Chunk[]> {
  const found = new Map<number, Chunk[]>()
  for (const { message, chunk } of joinedChunks(list)) {
    const known = found.get(message)
    if (known === undefined) found.set(message, [chunk])
    else known.push(chunk)
  }
  for (const chunks of found.values()) chunks.reverse()
  return found
}

/** The messages of runs, oldest first. */
export function joinMessages(runs: readonly RunMessages[]): readonly StoredUIMessage[] {
  return runs.reduce(addRun, [] as readonly Draft[]).map(messageOf)
}

/** Cached: runs are joined once to learn their size, and again with their neighbours. */
const built = new WeakMap<Draft, StoredUIMessage>()

function messageOf(draft: Draft): StoredUIMessage {
  const known = built.get(draft)
  if (known !== undefined) return known
  const { chunks, parts, ...rest } = draft
  const message = { ...rest, parts: rest.role === 'user' ? parts : toUiParts(chunks) }
  built.set(draft, message)
  return message
}

/** A regenerated response or an edited message replaces what followed it; an answered one continues. */
function addRun(before: readonly Draft[], { rewrites, drafts }: RunMessages): readonly Draft[] {
  const [first, ...rest] = drafts
  const last = before.at(-1)
  if (first !== undefined && first.id === last?.id)
    return [...before.slice(0, -1), { ...last, ...first, chunks: [...last.chunks, ...first.chunks] }, ...rest]
  const at = rewrites ? before.findIndex(({ id }) => id === first?.id) : -1
  return [...(at < 0 ? before : before.slice(0, at)), ...drafts]
}

/** The user's message and the response. */
function pairOf(
  run: Run,
  chat: ChatState,
  leg: number,
  chunks: readonly Chunk[],
  userParts: readonly UIMessagePart[],
  note: MessageNote,
): readonly Draft[] {
  const own = toMessageId({ run: run.id, leg })
  const answer: Draft = {
    id: (leg === 0 ? chat.messageId : undefined) ?? own,
    role: 'assistant',
    parts: [],
    chunks,
    metadata: metadataOf(run, chat, leg, chunks),
  }
  if (userParts.length === 0) return [answer]
  const { message: clientId, metadata } = leg === 0 ? note : {}
  const user = { id: clientId ?? own.replace('msg_', 'usr_'), role: 'user', parts: userParts, chunks: [] } as const
  return [{ ...user, ...(metadata !== undefined && { metadata }) }, answer]
}

/** The metadata, as the stream's chunks produce it. */
function metadataOf(run: Run, { ended, message }: ChatState, leg: number, chunks: readonly Chunk[]): unknown {
  const given = chunks.flatMap((chunk) => (chunk.type === 'message-metadata' ? [chunk.messageMetadata] : []))
  const start = { holdfast: { run: run.id, session: run.session } }
  return [...given, ...(leg === message.leg && ended !== undefined ? [ended] : [])].reduce(merge, start)
}

/** Merges deeply, as the client does. */
function merge(base: unknown, over: unknown): unknown {
  if (!isRecord(base) || !isRecord(over)) return over ?? base
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(over))
    if (!UNSAFE.has(key) && value !== undefined) merged[key] = merge(merged[key], value)
  return merged
}

const UNSAFE: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function wordsIn(event: LoggedEvent): readonly UIMessagePart[] {
  if (event.type === 'run.created') return partsOf(event.data.input)
  if (event.type !== 'run.resumed') return []
  return Object.values(event.data.answers).flatMap(partsOf)
}

function partsOf(input: unknown): readonly UIMessagePart[] {
  const userInput = userInputOf(input)
  if (userInput === undefined) return []
  if ('messages' in userInput) {
    const { content = '' } = userInput.messages.findLast(({ role }) => role === 'user') ?? {}
    return typeof content === 'string' ? partsOf(content) : content.flatMap(contentPart)
  }
  const { text, files } = userInput
  const attached = files.map(({ mediaType, data, url = '', name }) => filePart(mediaType, data ?? url, name))
  return text === '' && attached.length > 0 ? attached : [...attached, { type: 'text', text }]
}

function contentPart(part: ContentPart): UIMessagePart[] {
  if (part.type === 'text') return [{ type: 'text', text: part.text }]
  return part.type === 'file' ? [filePart(part.mediaType, part.data, part.filename)] : []
}

function filePart(mediaType: string, data: string, filename: string | undefined): UIMessagePart {
  const url = /^https?:/i.test(data) ? data : `data:${mediaType};base64,${data}`
  return { type: 'file', mediaType, url, ...(filename !== undefined && { filename }) }
}
