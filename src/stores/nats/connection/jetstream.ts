/** One connection to the servers: JetStream requests, retries, and switching servers. */
import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node'
import { HoldfastError, detailOf, storeUnavailable } from '../../../core/model/errors.ts'
import type { StoreHealth } from '../../../core/ports/store.ts'
import { delayUntilAbort } from '../../shared/delay.ts'
import { bodyOf, messageIn, seqOf } from './replies.ts'
import { type ConnectOptions, connectionError, connectTo, type Nats } from './connect.ts'
import type { SubjectAddress } from '../layout.ts'
import { JetStreamError, DUPLICATE, failureKind, isStale, storeError, NotSentError, isFull } from './failures.ts'
import {
  directMessage,
  HEAD,
  type Message,
  messageFrom,
  Mismatch,
  onSubject,
  type RawMessage,
  type ReadMessage,
} from './message.ts'
import { RequestMux } from './request-mux.ts'
import { ServerTime } from './server-time.ts'
import { unsupportedServer, versionFault, versionFaults } from './server-versions.ts'

export interface JetStreamOptions extends ConnectOptions {
  /** Timeout of one attempt, before the request is sent again. */
  readonly requestTimeoutMs: number
  /** Called when a replica returned a wrong message. */
  readonly onDiverged: (stream: string, reason: string) => void
  /** Called when the cluster includes an unsupported server. */
  readonly onUnsupportedServer: (fault: string) => void
}

/** `stale`: the subject's last sequence differs from the expected one. `unsure`: an earlier attempt may have been written. */
export type PublishResult =
  | { readonly kind: 'done'; readonly seq: number }
  | { readonly kind: 'stale'; readonly unsure: boolean }

export interface Draft extends SubjectAddress {
  readonly head: string
  readonly data?: Uint8Array
  /** Expected last sequence of the subject; 0: none. Default: not checked. */
  readonly expected?: number
  /** Replaces the subject's messages (rollup). */
  readonly replaces?: boolean
}

export interface StreamState {
  readonly messages: number
  readonly bytes: number
  /** Sequence of the earliest message; one more than the last if the stream is empty. */
  readonly first_seq: number
  readonly last_seq: number
}

const EXPECTED = 'Nats-Expected-Last-Subject-Sequence'
/**
 * After this many request timeouts without a successful reply (to reads, or to writes), the node tries another server: this one
 * may be partitioned from the rest. Such a server still serves reads of its own data.
 */
const IDLE_FACTOR = 1.5
const RETRY_MIN_MS = 20
const RETRY_MAX_MS = 1000
/** How long a request on behalf of a caller is retried. */
export const COMMAND_MS = 10_000

export class JetStream {
  readonly time = new ServerTime()
  readonly #nats: Nats
  readonly #options: JetStreamOptions
  readonly #connection: NatsConnection
  readonly #closing = new AbortController()
  readonly #requests: RequestMux
  readonly #onReconnect = new Set<() => void>()
  #disconnects = 0
  #connected = true
  /** When JetStream last replied, per kind of request, or when the node last switched servers. */
  readonly #lastSuccessAt = { reading: performance.now(), writing: performance.now() }
  #failure: string | undefined

  private constructor(nats: Nats, connection: NatsConnection, options: JetStreamOptions) {
    this.#nats = nats
    this.#connection = connection
    this.#options = options
    this.#requests = new RequestMux(connection, options.requestTimeoutMs)
    void this.#observe()
  }

  static async open(nats: Nats, options: JetStreamOptions): Promise<JetStream> {
    try {
      const connection = await connectTo(nats, options)
      const jetstream = new JetStream(nats, connection, options)
      const faults = await jetstream.#faults()
      if (faults.length === 0) return jetstream
      await jetstream.close()
      throw unsupportedServer(faults.join('; '))
    } catch (cause) {
      if (cause instanceof HoldfastError) throw cause
      throw connectionError(options, cause)
    }
  }

  get connection(): NatsConnection {
    return this.#connection
  }

  /** How often a connection ended. Requests between which it is the same went to the same server. */
  get disconnects(): number {
    return this.#disconnects
  }

  get signal(): AbortSignal {
    return this.#closing.signal
  }

  /** Maximum message size that the server accepts. */
  get maxPayload(): number {
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

  /** Writes a message; resolves when a quorum of the stream's replicas has it. */
  async publish(draft: Draft, timeoutMs = COMMAND_MS): Promise<PublishResult> {
    const { subject, head, data, expected, replaces } = draft
    const headers = this.#nats.headers()
    headers.set(HEAD, head)
    if (expected !== undefined) headers.set(EXPECTED, String(expected))
    // The expected sequence excludes rivals. The message id does so a second time, within the servers' duplicate window.
    if (expected !== undefined && expected > 0 && this.isClustered) headers.set('Nats-Msg-Id', `${subject} ${expected}`)
    if (replaces) headers.set('Nats-Rollup', 'sub')
    let unsure = false
    try {
      const send = async (): Promise<number> =>
        (unsure ? await this.#written(draft) : undefined) ?? seqOf(await this.#request(subject, data, headers))
      return { kind: 'done', seq: await this.#repeat(send, timeoutMs, 'writing', () => (unsure = true)) }
    } catch (cause) {
      if (isStale(cause)) return { kind: 'stale', unsure }
      throw storeError(cause)
    }
  }

  /** The subject's last message according to the stream's leader; undefined: none. */
  async last({ stream, subject }: SubjectAddress, timeoutMs = COMMAND_MS): Promise<Message | undefined> {
    return this.#get(stream, { last_by_subj: subject }, onSubject(subject), timeoutMs)
  }

  /** The message at a sequence according to the leader, unverified. */
  led(stream: string, seq: number): Promise<Message | undefined> {
    return this.#get(stream, { seq }, (message) => message, COMMAND_MS)
  }

  /** The subject's earliest message according to the stream's leader. */
  async earliest({ stream, subject }: SubjectAddress): Promise<Message | undefined> {
    return this.#get(stream, { seq: 1, next_by_subj: subject }, onSubject(subject), COMMAND_MS)
  }

  /** The first message after a sequence on matching subjects, according to the stream's leader. */
  after({ stream, subject }: SubjectAddress, seq: number): Promise<Message | undefined> {
    return this.#get(stream, { seq: seq + 1, next_by_subj: subject }, (message) => message, COMMAND_MS)
  }

  /** An immutable message, from any replica: it exists unchanged or was removed. */
  at<Read>(stream: string, seq: number, read: ReadMessage<Read>): Promise<Read | undefined> {
    return this.#fromAny(stream, { seq }, read)
  }

  /** A subject that only ever gets one message. */
  only<Read>({ stream, subject }: SubjectAddress, read: ReadMessage<Read>): Promise<Read | undefined> {
    return this.#fromAny(stream, { last_by_subj: subject }, read)
  }

  /**
   * Finds out from the leader whether a draft whose reply was lost was written. It must not be sent again before that is known,
   * because the duplicate window is only seconds. Throws like the server if another message is there, since the draft may
   * precede it.
   */
  async #written({ stream, subject, head, data = EMPTY, expected }: Draft): Promise<number | undefined> {
    if (expected === undefined) return undefined
    const query = encoder.encode(JSON.stringify({ last_by_subj: subject }))
    const reply = await this.#request(`$JS.API.STREAM.MSG.GET.${stream}`, query)
    const last = messageIn(reply)
    if (last !== undefined && last.head === head && Buffer.compare(last.data, data) === 0) return last.seq
    if ((last?.seq ?? 0) === expected) return undefined
    throw new JetStreamError({ code: 400, err_code: DUPLICATE, description: 'the subject already has a newer message' })
  }

  /** Stream state according to its leader; also updates the servers' time. */
  async state(stream: string): Promise<StreamState> {
    const sentAt = performance.now()
    const { state, ts } = await this.api<{ state: StreamState; ts?: string }>(`STREAM.INFO.${stream}`, {})
    this.time.note(Date.parse(ts ?? ''), sentAt, performance.now())
    return state
  }

  /** Purges the messages of a subject: all, or those before a sequence. */
  async purge(stream: string, filter: string, before?: number): Promise<void> {
    await this.api(`STREAM.PURGE.${stream}`, { filter, ...(before !== undefined && { seq: before }) })
  }

  /** One idempotent call of the JetStream API. */
  async api<Reply>(what: string, body: unknown, timeoutMs = COMMAND_MS): Promise<Reply> {
    try {
      const send = (): Promise<Msg> => this.#request(`$JS.API.${what}`, encoder.encode(JSON.stringify(body)))
      return (await this.#repeat(async () => bodyOf(await send()), timeoutMs)) as Reply
    } catch (cause) {
      throw storeError(cause)
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#requests.close()
    await this.#connection.close()
  }

  /** Replicas may differ, so their replies are verified. If one is wrong or empty, the leader decides (STO-2). */
  async #fromAny<Read>(stream: string, query: object, read: ReadMessage<Read>): Promise<Read | undefined> {
    const found = await this.#direct(stream, query)
    if (found !== undefined) {
      try {
        return read(found)
      } catch (cause) {
        if (!(cause instanceof Mismatch)) throw cause
        this.#options.onDiverged(stream, detailOf(cause))
      }
    }
    return this.#get(stream, query, read, COMMAND_MS)
  }

  async #get<Read>(
    stream: string,
    query: object,
    read: ReadMessage<Read>,
    timeoutMs: number,
  ): Promise<Read | undefined> {
    try {
      const { message } = await this.api<{ message: RawMessage }>(`STREAM.MSG.GET.${stream}`, query, timeoutMs)
      return read(messageFrom(message))
    } catch (cause) {
      if (cause instanceof HoldfastError && cause.cause instanceof JetStreamError && cause.cause.isNoMessage)
        return undefined
      throw cause
    }
  }

  async #direct(stream: string, query: object): Promise<Message | undefined> {
    const body = encoder.encode(JSON.stringify(query))
    // The caller then queries the leader.
    const reply = await this.#request(`$JS.API.DIRECT.GET.${stream}`, body).catch(() => undefined)
    return reply && directMessage(reply)
  }

  /** Retries until a reply or a refusal arrives, or the time is over. */
  async #repeat<Reply>(
    send: () => Promise<Reply>,
    timeoutMs: number,
    doing: 'reading' | 'writing' = 'reading',
    onUnsure?: () => void,
  ): Promise<Reply> {
    const until = performance.now() + timeoutMs
    for (let delayMs = RETRY_MIN_MS; ; delayMs = Math.min(delayMs * 2, RETRY_MAX_MS)) {
      try {
        const reply = await send()
        this.#failure = undefined
        this.#lastSuccessAt[doing] = performance.now()
        return reply
      } catch (cause) {
        const kind = failureKind(cause)
        if (kind === 'refused' || isFull(cause)) this.#lastSuccessAt[doing] = performance.now()
        if (kind === 'refused') throw cause
        this.#switchServer(doing)
        if (kind === 'unsure') onUnsure?.()
        this.#failure = detailOf(cause)
        if (performance.now() + delayMs > until || this.#closing.signal.aborted) throw cause
        await delayUntilAbort(delayMs, this.#closing.signal)
      }
    }
  }

  /** No request on this connection succeeded for a while: try the next server. */
  #switchServer(doing: 'reading' | 'writing'): void {
    const now = performance.now()
    if (!this.#connected || now - this.#lastSuccessAt[doing] < this.#options.requestTimeoutMs * IDLE_FACTOR) return
    this.#resetSuccess()
    void this.#connection.reconnect().catch(() => {}) // fails only if the connection is closed
  }

  #resetSuccess(): void {
    this.#lastSuccessAt.reading = this.#lastSuccessAt.writing = performance.now()
  }

  #request(subject: string, data?: Uint8Array, headers?: MsgHdrs): Promise<Msg> {
    if (this.#closing.signal.aborted) throw storeUnavailable('the store is closed')
    if (!this.#connected) return Promise.reject(new NotSentError('there is no connection to a NATS server'))
    return this.#requests.request(subject, data, headers)
  }

  /** Version problems of the connected server and of the servers it announces. */
  async #faults(addresses: readonly string[] = this.#connection.info?.connect_urls ?? []): Promise<string[]> {
    const here = versionFault(this.serverVersion, this.#connection.getServer())
    return [...new Set([...(here === undefined ? [] : [here]), ...(await versionFaults(addresses))])]
  }

  /** A cluster may be downgraded or get an old server while a node is running. Such a server is not used. */
  async #recheck(addresses?: readonly string[]): Promise<void> {
    for (const fault of await this.#faults(addresses)) this.#options.onUnsupportedServer(fault)
  }

  async #observe(): Promise<void> {
    for await (const status of this.#connection.status()) {
      const { type } = status
      if (type === 'update') void this.#recheck(status.added)
      if (type === 'disconnect' || type === 'close') {
        this.#connected = false
        this.#disconnects++
        this.#failure = 'the connection to the NATS server was lost'
        this.#requests.giveUp(this.#failure) // replies are lost with the connection
      } else if (type === 'reconnect') {
        void this.#recheck()
        const fault = versionFault(this.serverVersion, this.#connection.getServer())
        if (fault !== undefined) {
          this.#failure = fault
          // Fails only if the connection is closed.
          setTimeout(() => void this.#connection.reconnect().catch(() => {}), RETRY_MAX_MS).unref()
          continue
        }
        this.#connected = true
        this.#resetSuccess()
        this.#failure = undefined
        for (const listener of this.#onReconnect) listener()
      }
    }
  }
}

const encoder = new TextEncoder()
const EMPTY = new Uint8Array()
