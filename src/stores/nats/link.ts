/** One connection to the servers, what is asked of JetStream over it, and the rule by which something is asked again. */
import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node'
import { HoldfastError, messageOf } from '../../core/errors.ts'
import type { StoreHealth } from '../../core/store.ts'
import { pause } from '../shared/pause.ts'
import { ApiError, DUPLICATE, failureKind, isStale, storeError, Unsent } from './failures.ts'
import { Questions } from './questions.ts'

export type Nats = typeof import('@nats-io/transport-node')

export interface LinkOptions {
  readonly servers: readonly string[]
  readonly user?: string
  readonly pass?: string
  readonly token?: string
  readonly tls?: boolean
  /** How long one answer may take before the question is asked again. */
  readonly answerMs: number
}

/** A message of a stream. */
export interface Message {
  readonly seq: number
  /** What Holdfast says about it, as JSON. */
  readonly head: string
  readonly data: Uint8Array
}

/** `stale`: the subject has another last sequence than was expected. `unsure`: an earlier attempt may have been written. */
export type Published =
  | { readonly kind: 'done'; readonly seq: number }
  | { readonly kind: 'stale'; readonly unsure: boolean }

export interface Draft {
  readonly subject: string
  readonly head: string
  readonly data?: Uint8Array
  /** Sequence of the subject's last message, 0 for none; where it is not given, nothing is checked. */
  readonly expected?: number
  /** Replaces what is on the subject. */
  readonly replaces?: boolean
}

export interface StreamState {
  readonly messages: number
  readonly bytes: number
  readonly last_seq: number
}

/** The one header of a message that is ours. */
export const HEAD = 'Holdfast'
const EXPECTED = 'Nats-Expected-Last-Subject-Sequence'
const RETRY_MIN_MS = 20
const RETRY_MAX_MS = 1000
const CONNECT_MS = 10_000
/** A connection that died without a word is noticed by asking. */
const PING_EVERY_MS = 5000
/** How long what a caller waits for is tried, before the caller is told. */
export const COMMAND_MS = 10_000

export class Link {
  readonly #nats: Nats
  readonly #connection: NatsConnection
  readonly #closing = new AbortController()
  readonly #questions: Questions
  readonly #onReconnect = new Set<() => void>()
  #connected = true
  #failure: string | undefined

  private constructor(nats: Nats, connection: NatsConnection, answerMs: number) {
    this.#nats = nats
    this.#connection = connection
    this.#questions = new Questions(connection, answerMs)
    void this.#observe()
  }

  static async open(nats: Nats, options: LinkOptions): Promise<Link> {
    const { servers, answerMs, user, pass, token, tls } = options
    try {
      const connection = await nats.connect({
        servers: [...servers],
        name: 'holdfast',
        timeout: CONNECT_MS,
        maxReconnectAttempts: -1,
        reconnectTimeWait: 100,
        reconnectJitter: 100,
        pingInterval: PING_EVERY_MS,
        maxPingOut: 2,
        ...(user !== undefined && { user }),
        ...(pass !== undefined && { pass }),
        ...(token !== undefined && { token }),
        ...(tls && { tls: {} }),
      })
      return new Link(nats, connection, answerMs)
    } catch (cause) {
      const message = `there is no way to a NATS server at ${servers.join(', ')}: ${messageOf(cause)}`
      throw new HoldfastError('unavailable', message, { cause, retryAfterMs: RETRY_MAX_MS })
    }
  }

  get connection(): NatsConnection {
    return this.#connection
  }

  get signal(): AbortSignal {
    return this.#closing.signal
  }

  /** Largest message that the server takes. */
  get payloadMax(): number {
    return this.#connection.info?.max_payload ?? 1024 * 1024
  }

  /** Whether there are several servers, so that streams can have replicas. */
  get isClustered(): boolean {
    return this.#connection.info?.cluster !== undefined
  }

  get serverVersion(): string {
    return this.#connection.info?.version ?? 'unknown'
  }

  health(): StoreHealth {
    return this.#failure === undefined ? { ok: true } : { ok: false, reason: this.#failure }
  }

  onReconnect(listener: () => void): () => void {
    this.#onReconnect.add(listener)
    return () => this.#onReconnect.delete(listener)
  }

  /** Writes a message; resolves when as many servers as the stream asks for have it. */
  async publish({ subject, head, data, expected, replaces }: Draft, patienceMs = COMMAND_MS): Promise<Published> {
    const headers = this.#nats.headers()
    headers.set(HEAD, head)
    if (expected !== undefined) headers.set(EXPECTED, String(expected))
    // Servers before 2.11 check what is expected before they agree on a message, and so let two pass that come at once. Of two
    // that name the same message before them, they take the first. That there is none before is checked when it is written.
    if (expected !== undefined && expected > 0 && this.isClustered) headers.set('Nats-Msg-Id', `${subject} ${expected}`)
    if (replaces) headers.set('Nats-Rollup', 'sub')
    let unsure = false
    try {
      const ask = async (): Promise<number> => seqOf(await this.#ask(subject, data, headers))
      return { kind: 'done', seq: await this.#repeat(ask, patienceMs, () => (unsure = true)) }
    } catch (cause) {
      if (isStale(cause)) return { kind: 'stale', unsure }
      throw storeError(cause)
    }
  }

  /** The last message of a subject, by the stream's leader; undefined where there is none. */
  async last(stream: string, subject: string, patienceMs = COMMAND_MS): Promise<Message | undefined> {
    return this.#get(stream, { last_by_subj: subject }, patienceMs)
  }

  /** A message that was written before, from any replica: it never changes, so it is there or gone. */
  async at(stream: string, seq: number): Promise<Message | undefined> {
    const found = await this.#direct(stream, { seq })
    return found ?? this.#get(stream, { seq }, COMMAND_MS)
  }

  /** Something of which there is only ever one. */
  async only(stream: string, subject: string): Promise<Message | undefined> {
    const found = await this.#direct(stream, { last_by_subj: subject })
    return found ?? this.#get(stream, { last_by_subj: subject }, COMMAND_MS)
  }

  async state(stream: string): Promise<StreamState> {
    return (await this.api<{ state: StreamState }>(`STREAM.INFO.${stream}`, {})).state
  }

  /** Forgets the messages of a subject, all of them or those before a sequence. */
  async purge(stream: string, filter: string, before?: number): Promise<void> {
    await this.api(`STREAM.PURGE.${stream}`, { filter, ...(before !== undefined && { seq: before }) })
  }

  /** One call of JetStream's API, which does the same when it is done twice. */
  async api<Answer>(what: string, body: unknown, patienceMs = COMMAND_MS): Promise<Answer> {
    try {
      const ask = (): Promise<Msg> => this.#ask(`$JS.API.${what}`, encoder.encode(JSON.stringify(body)))
      return (await this.#repeat(async () => answerOf(await ask()), patienceMs)) as Answer
    } catch (cause) {
      throw storeError(cause)
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#questions.close()
    await this.#connection.close()
  }

  async #get(stream: string, query: object, patienceMs: number): Promise<Message | undefined> {
    try {
      const { message } = await this.api<{ message: RawMessage }>(`STREAM.MSG.GET.${stream}`, query, patienceMs)
      return messageFrom(message)
    } catch (cause) {
      if (cause instanceof HoldfastError && cause.cause instanceof ApiError && cause.cause.isNoMessage) return undefined
      throw cause
    }
  }

  async #direct(stream: string, query: object): Promise<Message | undefined> {
    const body = encoder.encode(JSON.stringify(query))
    const answer = await this.#ask(`$JS.API.DIRECT.GET.${stream}`, body).catch(() => undefined)
    const seq = Number(answer?.headers?.get('Nats-Sequence') ?? 0)
    return answer === undefined || seq === 0 ? undefined : { seq, head: answer.headers!.get(HEAD), data: answer.data }
  }

  /** Asks until there is an answer, or a refusal, or for so long. */
  async #repeat<Answer>(ask: () => Promise<Answer>, patienceMs: number, onUnsure?: () => void): Promise<Answer> {
    const until = Date.now() + patienceMs
    for (let delay = RETRY_MIN_MS; ; delay = Math.min(delay * 2, RETRY_MAX_MS)) {
      try {
        const answer = await ask()
        this.#failure = undefined
        return answer
      } catch (cause) {
        const kind = failureKind(cause)
        if (kind === 'refused') throw cause
        if (kind === 'unsure') onUnsure?.()
        this.#failure = messageOf(cause)
        if (Date.now() + delay > until || this.#closing.signal.aborted) throw cause
        await pause(delay, this.#closing.signal)
      }
    }
  }

  #ask(subject: string, data?: Uint8Array, headers?: MsgHdrs): Promise<Msg> {
    if (this.#closing.signal.aborted) throw new HoldfastError('unavailable', 'the store is closed')
    if (!this.#connected) return Promise.reject(new Unsent('there is no connection to a NATS server'))
    return this.#questions.ask(subject, data, headers)
  }

  async #observe(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (type === 'disconnect' || type === 'close') {
        this.#connected = false
        this.#failure = 'the connection to the NATS server was lost'
        this.#questions.giveUp(this.#failure) // the answers are lost with the connection
      } else if (type === 'reconnect') {
        this.#connected = true
        this.#failure = undefined
        for (const listener of this.#onReconnect) listener()
      }
    }
  }
}

const encoder = new TextEncoder()

interface RawMessage {
  readonly seq: number
  readonly hdrs?: string
  readonly data?: string
}

function messageFrom({ seq, hdrs = '', data = '' }: RawMessage): Message {
  const [, head = ''] = /\r\nHoldfast: (.*)\r\n/.exec(Buffer.from(hdrs, 'base64').toString()) ?? []
  return { seq, head, data: Buffer.from(data, 'base64') }
}

/** Throws for a message that was not taken because another one was, in the same place. */
function seqOf(answer: Msg): number {
  const { seq, duplicate = false } = answerOf(answer) as { seq: number; duplicate?: boolean }
  if (duplicate) throw new ApiError({ code: 400, err_code: DUPLICATE, description: 'another one was faster' })
  return seq
}

/** What the server answered, as JSON; throws where that is an error. */
function answerOf(answer: Msg): unknown {
  const body = answer.json<{ error?: { code: number; err_code?: number; description?: string } }>()
  if (body.error !== undefined) throw new ApiError(body.error)
  return body
}
