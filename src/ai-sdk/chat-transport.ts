/** A transport for `useChat` that reconnects after the last chunk, shares connections between tabs, and stops durably. */
import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai'
import { type HeaderSource, headersFrom } from '../client/header-source.ts'
import { Backoff, type OnProblem } from '../client/backoff.ts'
import { ApiError, ClientError, ConnectionError } from '../client/errors.ts'
import { eventsIn, piecesOf, type WaitForPiece } from '../sse/read.ts'
import { StreamTabs, type TabMessage } from './stream-tabs.ts'

/** Options of `HoldfastChatTransport`. */
export interface ChatTransportOptions {
  /** Address of a component's chat, such as `/ai/assistant/chat`. */
  readonly api: string
  /** Sent with every request; a function is called for each. Default: none. */
  readonly headers?: HeaderSource
  /** Of `fetch`: whether cookies are sent. Default: that of `fetch`. */
  readonly credentials?: RequestCredentials
  /** Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch
  /** Consecutive failures before the chat gets an error. Default: 20. */
  readonly retries?: number
  /** Delay before the first retry; it doubles, up to ten seconds. Default: 500. */
  readonly retryDelayMs?: number
  /** A connection that is silent for longer is replaced; the server sends heartbeats. Default: 45,000. */
  readonly idleTimeoutMs?: number
  /** Tabs of one origin that show the same message share one connection. Default: true. */
  readonly shareConnections?: boolean
  /** Called when the connection failed and will be retried, and with `undefined` when it has recovered. Default: ignored. */
  readonly onProblem?: OnProblem
}

export type SendOptions<Message extends UIMessage> = Parameters<ChatTransport<Message>['sendMessages']>[0]
export type ReconnectOptions<Message extends UIMessage> = Parameters<ChatTransport<Message>['reconnectToStream']>[0]

interface Request {
  readonly path?: string
  readonly method?: 'POST'
  readonly body?: object
  readonly headers?: HeadersInit | undefined
  readonly signal?: AbortSignal | undefined
}

const IDLE_TIMEOUT_MS = 45_000

/** Header that identifies the numbering of a stream's chunks: connections with the same value deliver the same chunks. */
const NUMBERING = 'holdfast-stream'

/** Header with the number of chunks that a replay has to begin with. */
const REPLAY_LENGTH = 'holdfast-replay-length'
/** A replay that takes longer is shown as it arrives. */
const REPLAY_WAIT_MS = 2000

/**
 * A transport for `useChat`: reconnects after the last chunk, shares connections between tabs, and stops durably.
 *
 * @example
 * ```ts
 * const transport = new HoldfastChatTransport({ api: '/ai/assistant/chat' })
 * const { messages, sendMessage } = useChat({ id: chatId, transport, resume: true })
 * ```
 */
export class HoldfastChatTransport<Message extends UIMessage = UIMessage> implements ChatTransport<Message> {
  readonly resumeStreamIsReplay = true
  readonly #options: ChatTransportOptions
  /** The chats that are being reconnected. Aborted by an answer: its stream continues the message, which a replay would reset. */
  readonly #reconnecting = new Map<string, AbortController>()

  constructor(options: ChatTransportOptions) {
    this.#options = options
  }

  async sendMessages(options: SendOptions<Message>): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId: id, messages, trigger, messageId, abortSignal: signal, body, headers } = options
    if (messages.at(-1)?.role === 'assistant') this.#reconnecting.get(id)?.abort()
    const sent = { method: 'POST', body: { ...body, id, messages, trigger, messageId }, signal } as const
    // A repeated request whose response was lost must not start a second run.
    const key = { 'idempotency-key': crypto.randomUUID() }
    const backoff = this.#backoff()
    const response = await this.#retry(backoff, { ...sent, headers: { ...headerRecord(headers), ...key } })
    return streamOf(this.#chunks(response, backoff, signal))
  }

  async reconnectToStream(options: ReconnectOptions<Message>): Promise<ReadableStream<UIMessageChunk> | null> {
    const { chatId, abortSignal, headers } = options
    const superseded = new AbortController()
    const signal = AbortSignal.any([superseded.signal, ...(abortSignal === undefined ? [] : [abortSignal])])
    this.#reconnecting.set(chatId, superseded)
    try {
      const backoff = this.#backoff()
      const response = await this.#retry(backoff, { path: pathOf(chatId, 'stream'), headers, signal })
      if (response.status === 204) return null
      const length = Number(response.headers.get(REPLAY_LENGTH) ?? 0)
      const chunks = this.#chunks(response, backoff, signal)
      const replay = await replayOf(chunks, length, signal)
      if (!superseded.signal.aborted) return streamOf(replay)
      void chunks.return()
      return null
    } catch (cause) {
      if (superseded.signal.aborted) return null
      throw cause
    } finally {
      if (this.#reconnecting.get(chatId) === superseded) this.#reconnecting.delete(chatId)
    }
  }

  /** Stops the chat's run, also after a reload. Aborting a stream only disconnects from it. */
  async stop(chatId: string): Promise<void> {
    await this.#retry(this.#backoff(), { path: pathOf(chatId, 'stop'), method: 'POST', body: {} })
  }

  /** The newest messages of a chat, for `messages` of `useChat`. */
  async messages(chatId: string): Promise<Message[]> {
    const response = await this.#retry(this.#backoff(), { path: pathOf(chatId, 'messages') })
    return ((await response.json()) as { messages: Message[] }).messages
  }

  #backoff(): Backoff {
    const { retries = 20, retryDelayMs = 500, onProblem } = this.#options
    return new Backoff(retries, retryDelayMs, onProblem)
  }

  /** The chunks of a message, each exactly once, across connections, tabs and servers. */
  async *#chunks(
    first: Response,
    backoff: Backoff,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<UIMessageChunk, void, void> {
    const stream = first.headers.get('x-workflow-run-id')
    if (stream === null) throw new ConnectionError('the response is not a chat of Holdfast')
    const numbering = first.headers.get(NUMBERING)
    let tabs = await this.#openTabs(numbering)
    let received = 0
    let response: Response | undefined = first
    try {
      for (;;) {
        const next: TabMessage = response === undefined ? await tabs!.next(signal) : 'missed'
        if (next === 'done') return
        if (typeof next === 'object') {
          received++
          yield next.chunk
          continue
        }
        if (next === 'silent') await tabs!.takeLead()
        if (response === undefined) {
          response = await this.#resume(stream, received, backoff, signal)
          if (response.headers.get(NUMBERING) !== numbering) {
            tabs?.close()
            tabs = undefined
          }
        }
        try {
          for await (const chunk of this.#read(response, tabs)) {
            if (chunk === 'done') return
            received++
            backoff.progress()
            yield chunk
            if (tabs?.isServed === true) break
          }
        } catch (cause) {
          if (signal?.aborted === true) throw cause
        }
        response = undefined
        if (tabs?.isServed === true) continue
        await backoff.pause(new ConnectionError('the connection was lost before the end of the message'), signal)
        if (tabs === undefined) response = await this.#resume(stream, received, backoff, signal)
      }
    } finally {
      tabs?.close()
    }
  }

  async #openTabs(numbering: string | null): Promise<StreamTabs | undefined> {
    const { api, shareConnections = true, idleTimeoutMs = IDLE_TIMEOUT_MS } = this.#options
    if (!shareConnections || numbering === null || globalThis.location === undefined) return undefined
    return StreamTabs.open(`holdfast:chat:${new URL(api, location.href).href}:${numbering}`, idleTimeoutMs)
  }

  /** The chunks of one connection, until another tab delivers the rest. */
  async *#read(response: Response, tabs: StreamTabs | undefined): AsyncGenerator<UIMessageChunk | 'done', void, void> {
    const left = new AbortController()
    try {
      for await (const { data } of eventsIn(piecesOf(response.body, this.#wait(tabs, left.signal)))) {
        if (data === '[DONE]') {
          tabs?.end()
          return yield 'done'
        }
        const chunk = JSON.parse(data) as UIMessageChunk
        tabs?.has(chunk)
        yield chunk
      }
    } finally {
      left.abort()
    }
  }

  async #resume(
    stream: string,
    received: number,
    backoff: Backoff,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    try {
      return await this.#retry(backoff, { path: `${pathOf(stream, 'stream')}?startIndex=${received}`, signal })
    } catch (cause) {
      if (!(cause instanceof ApiError) || cause.status !== 410) throw cause
      // Retracted parts cannot be taken back here. `useChat` treats this as a lost connection and replays the message.
      throw new TypeError('the network stream must be replayed: output that was already sent has been retracted', {
        cause,
      })
    }
  }

  async #retry(backoff: Backoff, request: Request): Promise<Response> {
    for (;;) {
      const response = await this.#send(request)
      // Not `instanceof Response`: frameworks such as Hono replace the global class, and `fetch` keeps returning the original one.
      if (!(response instanceof ClientError)) {
        backoff.alive()
        return response
      }
      if (!response.retryable) throw response
      await backoff.pause(response, request.signal)
    }
  }

  async #send({ path = '', method, body, headers, signal }: Request): Promise<Response | ClientError> {
    const { api, credentials, fetch = globalThis.fetch } = this.#options
    const [base = '', query] = api.split('?', 2)
    const [below = '', more] = path.split('?', 2)
    const search = [query, more].filter((part) => part !== undefined).join('&')
    const own = await headersFrom(this.#options.headers)
    try {
      const response = await fetch(`${base}${below}${search === '' ? '' : `?${search}`}`, {
        ...(method !== undefined && { method }),
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(credentials !== undefined && { credentials }),
        headers: {
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...own,
          ...headerRecord(headers),
        },
        signal: signal ?? null,
      })
      return response.ok ? response : await refusalOf(response)
    } catch (cause) {
      signal?.throwIfAborted()
      return new ConnectionError('the server cannot be reached', { cause })
    }
  }

  #wait(tabs: StreamTabs | undefined, left: AbortSignal): WaitForPiece {
    const { idleTimeoutMs = IDLE_TIMEOUT_MS } = this.#options
    const served = tabs?.served(left).then(() => {
      throw new ConnectionError('another tab delivers what follows')
    })
    served?.catch(() => {}) // it may come between two chunks
    return async (piece) => {
      let timer: ReturnType<typeof setTimeout> | undefined
      const silence = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => reject(new ConnectionError('the connection is silent')), idleTimeoutMs)
      })
      try {
        const result = await Promise.race([piece, silence, ...(served === undefined ? [] : [served])])
        tabs?.alive()
        return result
      } finally {
        clearTimeout(timer)
      }
    }
  }
}

function streamOf(chunks: AsyncGenerator<UIMessageChunk, void, void>): ReadableStream<UIMessageChunk> {
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await chunks.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
    cancel: () => void chunks.return(),
  })
}

/**
 * The same chunks, once the first ones are there. A replay begins with an empty message: if its chunks arrived one by one, the page
 * would show less than before, and an approval given meanwhile would be overwritten.
 */
async function replayOf(
  chunks: AsyncGenerator<UIMessageChunk, void, void>,
  length: number,
  signal: AbortSignal,
): Promise<AsyncGenerator<UIMessageChunk, void, void>> {
  const first: Promise<IteratorResult<UIMessageChunk, void>>[] = []
  const elapsed = AbortSignal.any([AbortSignal.timeout(REPLAY_WAIT_MS), signal])
  const late = new Promise<'late'>((resolve) => {
    elapsed.addEventListener('abort', () => resolve('late'), { once: true })
  })
  while (first.length < length && !elapsed.aborted) {
    const next = chunks.next()
    first.push(next)
    const arrived = await Promise.race([next.catch(() => 'failed' as const), late])
    if (typeof arrived === 'string' || arrived.done === true) break
  }
  return joined(first, chunks)
}

async function* joined(
  first: readonly Promise<IteratorResult<UIMessageChunk, void>>[],
  rest: AsyncGenerator<UIMessageChunk, void, void>,
): AsyncGenerator<UIMessageChunk, void, void> {
  try {
    for (const each of first) {
      const { value, done } = await each
      if (done === true) return
      yield value
    }
    yield* rest
  } finally {
    void rest.return()
  }
}

async function refusalOf(response: Response): Promise<ApiError> {
  const { status, headers } = response
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return new ApiError(await response.text(), {
    code: headers.get('holdfast-error') ?? `http_${status}`,
    status,
    retryable: status === 429 || status >= 500,
    ...(Number.isFinite(seconds) && { retryAfterMs: seconds * 1000 }),
  })
}

function pathOf(chat: string, what: 'stream' | 'stop' | 'messages'): string {
  return `/${encodeURIComponent(chat)}/${what}`
}

function headerRecord(headers: HeadersInit | undefined): Record<string, string> {
  return Object.fromEntries(new Headers(headers))
}
