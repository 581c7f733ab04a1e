/** Makes the streams of existing routes durable: they outlive their connections, and can be resumed and stopped. */
import { randomUUID } from 'node:crypto'
import type { UIMessage, UIMessageChunk } from 'ai'
import { HoldfastError } from '../../core/model/errors.ts'
import { localPrincipal, type Principal } from '../../core/model/principal.ts'
import type { ChatOptions } from '../../mount/chats.ts'
import type { Holdfast } from '../../mount/holdfast.ts'
import { streamInstance, untilEnded } from '../../mount/local-streams.ts'
import type { HoldfastOptions } from '../../mount/options.ts'
import { type MessageNote, NOTE } from '../view/history.ts'
import { durableChatComponent, type MakeChunks, SOURCE, sources } from './durable-component.ts'
import { inputOf } from './user-input.ts'

/** The result of `streamText` or of an agent's `stream`. */
export interface StreamResult {
  readonly stream: ReadableStream<unknown>
}

export type DurableSource = StreamResult | ReadableStream<UIMessageChunk>

/** A function gets a signal that is aborted when the chat is stopped: pass it to `streamText` as `abortSignal`. */
export type DurableInput = DurableSource | ((signal: AbortSignal) => DurableSource | PromiseLike<DurableSource>)

/** The body that `useChat` sends, or the fields of it that you have. */
export interface DurableChat {
  /** Id of the chat. */
  readonly id: string
  /** Messages that the client sent. The last one is kept for the history, and decides whether the stream continues a message. */
  readonly messages?: readonly UIMessage[]
  readonly trigger?: string
  readonly messageId?: string
  /** Owner of the chat. Default: the principal `local`. */
  readonly principal?: Principal
}

/** Options of `createDurableChats`. */
export interface DurableChatsOptions {
  /** As in `holdfast()`. Default: `sqlite:.holdfast/durable-chats.db`. */
  readonly store?: HoldfastOptions['store']
  /** Instead of `store`: your own instance that has `durableChatComponent` among its components. Default: an instance of its own on `store`. */
  readonly holdfast?: Pick<Holdfast, 'chats' | 'clientFor'>
  /** Keeps the process alive until a promise settles, such as `after` of Next.js. Default: the process lives. */
  readonly waitUntil?: (promise: Promise<unknown>) => void
}

/** Owner of the chat that a request concerns. */
export interface ChatOwner {
  /** Owner of the chat. Default: the principal `local`. */
  readonly principal?: Principal
}

/** Durable chats of one store, created by `createDurableChats`. */
export interface DurableChats {
  /** Reads the stream to its end, whether or not anybody listens, and returns it from the log as a response for `useChat`. */
  durable(source: DurableInput, chat: DurableChat): Promise<Response>
  /** The response to a `useChat` that resumes: the newest message from its start, or 204 if there is nothing to resume. */
  resume(chatId: string, owner?: ChatOwner): Promise<Response>
  /** Stops the streams of a chat, durably. */
  stop(chatId: string, owner?: ChatOwner): Promise<void>
  /** The newest messages of a chat, for `messages` of `useChat`. */
  load<Message extends UIMessage = UIMessage>(chatId: string, owner?: ChatOwner): Promise<Message[]>
  /** Waits up to ten seconds for streams in progress, then closes the store unless it belongs to `holdfast`. */
  close(): Promise<void>
}

const NAMES: ReadonlySet<string> = new Set<keyof DurableChatsOptions>(['store', 'holdfast', 'waitUntil'])

/** Opens nothing yet. Throws `invalid_request` for invalid options. */
export function createDurableChats(options: DurableChatsOptions = {}): DurableChats {
  checkDurableOptions(options)
  const { waitUntil } = options
  const own =
    options.holdfast === undefined
      ? streamInstance(durableChatComponent, options.store ?? 'sqlite:.holdfast/durable-chats.db')
      : undefined
  const { chats, clientFor } = options.holdfast ?? own!
  const closed = new AbortController()
  return {
    async durable(source, chat) {
      const { id: session, messages = [], principal = localPrincipal } = checkChat(chat)
      const key = randomUUID()
      sources().set(key, chunksOf(source, messages))
      try {
        const run = await clientFor(principal).runs.start({
          component: durableChatComponent.id,
          session,
          input: inputOf(messages.at(-1)),
          metadata: { [NOTE]: noteOn(chat), [SOURCE]: key },
        })
        const ended = untilEnded(run, closed.signal).finally(() => sources().delete(key))
        waitUntil?.(ended)
        return await chats.resume(run.id, about({ principal }))
      } catch (cause) {
        sources().delete(key)
        throw cause
      }
    },
    resume: (chatId, owner) => chats.resume(chatId, about(owner)),
    stop: (chatId, owner) => chats.stop(chatId, about(owner)),
    load: (chatId, owner) => chats.load(chatId, about(owner)),
    async close() {
      await own?.close()
      closed.abort(new HoldfastError('unavailable', 'the durable chats were closed'))
    },
  }
}

function about({ principal }: ChatOwner = {}): ChatOptions {
  return { component: durableChatComponent.id, toolParts: 'static', ...(principal !== undefined && { principal }) }
}

function checkDurableOptions(options: DurableChatsOptions): void {
  for (const name of Object.keys(options))
    if (!NAMES.has(name)) throw wrong(`unknown option ${name}: use ${[...NAMES].join(', ')}`)
  if (options.store !== undefined && options.holdfast !== undefined)
    throw wrong('store and holdfast cannot be combined: pass one of them')
}

function checkChat(chat: DurableChat): DurableChat {
  if (typeof chat?.id === 'string' && chat.id !== '') return chat
  throw wrong('the second argument must have the id of the chat, such as the body that useChat sends')
}

function wrong(message: string): HoldfastError {
  return new HoldfastError('invalid_request', `durable chats: ${message}`)
}

function noteOn({ messages = [], trigger, messageId }: DurableChat): MessageNote {
  const last = messages.at(-1)
  if (last?.role !== 'user') return {}
  const isRewrite = trigger === 'regenerate-message' || messageId !== undefined
  return { message: last.id, ...(isRewrite && { rewrites: true }) }
}

function chunksOf(source: DurableInput, messages: readonly UIMessage[]): MakeChunks {
  return async (signal) => {
    const made = typeof source === 'function' ? await source(signal) : source
    if (made instanceof ReadableStream) return made
    const { generateId, toUIMessageStream } = await import('ai')
    return toUIMessageStream({
      stream: (made as { stream: Parameters<typeof toUIMessageStream>[0]['stream'] }).stream,
      originalMessages: [...messages],
      generateMessageId: () => `msg_${generateId()}`,
    })
  }
}
