/**
 * Follows a stream with an ordered consumer: first the last message of each subject, then every new message, headers only. Gaps
 * in the delivery numbers reveal missed messages, which are requested again.
 */
import type { Msg, Subscription } from '@nats-io/transport-node'
import { storeUnavailable } from '../../../core/model/errors.ts'
import { delayUntilAbort } from '../../shared/delay.ts'
import type { SubjectAddress } from '../layout.ts'
import type { JetStream } from '../connection/jetstream.ts'
import { HEAD } from '../connection/message.ts'

export interface FollowerOptions {
  readonly jetstream: JetStream
  readonly address: SubjectAddress
  readonly onMessage: (subject: string, head: string, seq: number) => void
}

const HEARTBEAT_MS = 2000
const WATCH_MS = 500
/** The server removes a consumer without a subscriber after this time. */
const INACTIVE_MS = 30_000
const CAUGHT_UP_MS = 10_000
/** A million runs take some seconds. */
const START_MS = 120_000

/** Metadata in the reply subject of a delivered message. */
interface Delivery {
  readonly seq: number
  /** Delivery number of this consumer: 1, 2, 3 … */
  readonly number: number
  /** Messages still to be delivered. */
  readonly pending: number
}

interface Waiter {
  readonly seq: number
  readonly since: number
  readonly resolve: () => void
}

export class Follower {
  readonly #options: FollowerOptions
  /** All messages up to this sequence are processed. */
  #seq = 0
  /** The last delivered message. `#seq` may be higher, if the messages after it were removed. */
  #deliveredSeq = 0
  #settling = false
  #subscription: Subscription | undefined
  /** Consumer generation: deliveries of earlier consumers are ignored. */
  #generation = 0
  /** The stream's last sequence when the consumer was created. */
  #lastBefore = 0
  #delivered = 0
  #heardAt = 0
  #waiting: Waiter[] = []
  #isCurrent = false
  #lastReceived: { readonly seq: number; readonly head: string } | undefined

  constructor(options: FollowerOptions) {
    this.#options = options
  }

  get address(): SubjectAddress {
    return this.#options.address
  }

  /** All messages up to this sequence are processed. */
  get seen(): number {
    return this.#seq
  }

  /** The last delivered message. While it exists unchanged, so does everything before it. */
  get lastReceived(): { readonly seq: number; readonly head: string } | undefined {
    return this.#lastReceived
  }

  /** Resolves when everything that was in the stream has been processed. */
  async start(): Promise<void> {
    this.#options.jetstream.onReconnect(() => void this.#again())
    await this.#begin()
    void this.#watch()
    await this.#current()
  }

  /** Follows the stream from its beginning, as a new node does: the stream is no longer the one followed so far. */
  async rewind(): Promise<void> {
    this.#seq = this.#deliveredSeq = 0
    this.#isCurrent = false
    this.#lastReceived = undefined
    await this.#begin()
    await this.#current()
  }

  async #current(): Promise<void> {
    const { jetstream, address } = this.#options
    for (const until = performance.now() + START_MS; !this.#isCurrent; await delayUntilAbort(2, jetstream.signal)) {
      if (performance.now() > until || jetstream.signal.aborted)
        throw storeUnavailable(
          `the stream ${address.stream} is not delivered: check that the NATS servers have a leader for it`,
        )
    }
  }

  close(): void {
    this.#generation++
    this.#subscription?.unsubscribe()
    this.#subscription = undefined
  }

  /** Resolves when everything that was in the stream at the time of the call has been processed. */
  async caughtUp(): Promise<void> {
    const { jetstream, address } = this.#options
    await this.caughtUpTo((await jetstream.state(address.stream)).last_seq)
  }

  async caughtUpTo(seq: number): Promise<void> {
    const { jetstream, address } = this.#options
    if (seq <= this.#seq) return
    const enough = new AbortController()
    const seen = new Promise<void>((resolve) => this.#waiting.push({ seq, since: performance.now(), resolve }))
    const late = delayUntilAbort(CAUGHT_UP_MS, AbortSignal.any([enough.signal, jetstream.signal])).then(() => true)
    const isLate = await Promise.race([seen, late])
    enough.abort()
    if (isLate)
      throw storeUnavailable(
        `the stream ${address.stream} is not delivered: check that the NATS servers have a leader for it`,
        { retryAfterMs: 1000 },
      )
  }

  async #begin(): Promise<void> {
    const { jetstream, address } = this.#options
    this.close()
    const generation = this.#generation
    this.#heardAt = performance.now()
    const { last_seq: last } = await jetstream.state(address.stream)
    if (generation !== this.#generation || jetstream.signal.aborted) return
    this.#lastBefore = last
    this.#delivered = 0
    const inbox = `_INBOX.${address.stream}.${crypto.randomUUID()}`
    this.#subscription = jetstream.connection.subscribe(inbox, {
      callback: (_, message) => {
        if (generation === this.#generation) this.#receive(message)
      },
    })
    const { num_pending: pending } = await jetstream.api<{ num_pending: number }>(`CONSUMER.CREATE.${address.stream}`, {
      stream_name: address.stream,
      config: { ...consumer(address.subject, inbox), ...this.#beginning() },
    })
    if (generation !== this.#generation) return
    this.#heardAt = performance.now() // on a slow connection the idle time starts only now
    if (pending === 0 && this.#delivered === 0) this.#endsAt(last)
  }

  #beginning(): object {
    return this.#deliveredSeq === 0
      ? { deliver_policy: 'last_per_subject' }
      : { deliver_policy: 'by_start_sequence', opt_start_seq: this.#deliveredSeq + 1 }
  }

  async #again(): Promise<void> {
    // If this fails there is no consumer, and the watchdog notices the silence.
    await this.#begin().catch(() => {})
  }

  /** A silent consumer was removed or cannot reach this node. */
  async #watch(): Promise<void> {
    const { signal } = this.#options.jetstream
    while (!signal.aborted) {
      await delayUntilAbort(WATCH_MS, signal)
      if (!signal.aborted && performance.now() - this.#heardAt > HEARTBEAT_MS * 3) await this.#again()
    }
  }

  #receive(message: Msg): void {
    this.#heardAt = performance.now()
    if (message.headers?.code === 100) return this.#hearStatus(message)
    const delivery = deliveryOf(message.reply ?? '')
    if (delivery === undefined) return
    if (delivery.number !== this.#delivered + 1) return void this.#again()
    this.#delivered = delivery.number
    this.#deliveredSeq = delivery.seq
    const head = message.headers?.get(HEAD) ?? ''
    this.#lastReceived = { seq: delivery.seq, head }
    this.#options.onMessage(message.subject, head, delivery.seq)
    // Deliveries are in order, and messages in between may have been removed. The server's pending count can be wrong
    // permanently.
    if (delivery.seq >= this.#lastBefore) this.#seeAll(delivery.seq)
    else this.#see(delivery.seq)
    if (delivery.pending === 0) this.#endsAt(this.#lastBefore)
  }

  /** A flow-control request, which gets a reply; or a heartbeat: everything available was delivered. */
  #hearStatus(message: Msg): void {
    if (message.reply) return void message.respond()
    const stalled = message.headers?.get('Nats-Consumer-Stalled')
    if (stalled) this.#options.jetstream.connection.publish(stalled)
    const last = message.headers?.get('Nats-Last-Consumer')
    if (last && Number(last) !== this.#delivered) return void this.#again()
    // Pending messages may be removed before delivery. Then no message arrives as the last one.
    if (!stalled && !this.#isCurrent) this.#endsAt(this.#lastBefore)
    // Anybody who has waited longer than this waits for a removed message.
    const before = performance.now() - HEARTBEAT_MS
    const overdue = this.#waiting.filter(({ since }) => since < before).map(({ seq }) => seq)
    if (overdue.length > 0) this.#endsAt(Math.max(...overdue))
  }

  /**
   * The consumer has no more messages up to this sequence. Either they were removed, or its replica lags: then they will still
   * arrive and must not count as processed. The leader knows which.
   */
  #endsAt(seq: number): void {
    if (this.#deliveredSeq >= seq) return this.#seeAll(seq)
    if (!this.#settling) void this.#settle(seq)
  }

  async #settle(upTo: number): Promise<void> {
    const { jetstream, address } = this.#options
    const generation = this.#generation
    this.#settling = true
    try {
      const next = await jetstream.after(address, this.#deliveredSeq)
      if (generation === this.#generation && (next === undefined || next.seq > upTo)) this.#seeAll(upTo)
    } catch {
      // The next heartbeat tries again.
    } finally {
      this.#settling = false
    }
  }

  #seeAll(seq: number): void {
    this.#isCurrent = true
    this.#see(seq)
  }

  #see(seq: number): void {
    this.#seq = Math.max(this.#seq, seq)
    const waiting = this.#waiting
    this.#waiting = waiting.filter((waiter) => waiter.seq > this.#seq)
    for (const waiter of waiting) if (waiter.seq <= this.#seq) waiter.resolve()
  }
}

function consumer(subject: string, inbox: string): object {
  return {
    deliver_subject: inbox,
    filter_subject: subject,
    ack_policy: 'none',
    max_deliver: 1,
    headers_only: true,
    flow_control: true,
    idle_heartbeat: HEARTBEAT_MS * 1e6,
    inactive_threshold: INACTIVE_MS * 1e6,
    mem_storage: true,
    num_replicas: 1,
  }
}

/** `$JS.ACK.<stream>.<consumer>.<tries>.<seq>.<number>.<time>.<pending>`, or with a domain and an account before the stream. */
function deliveryOf(reply: string): Delivery | undefined {
  const words = reply.split('.')
  if (words[1] !== 'ACK' || words.length < 9) return undefined
  const at = words.length >= 11 ? 7 : 5
  return { seq: Number(words[at]), number: Number(words[at + 1]), pending: Number(words[at + 3]) }
}
