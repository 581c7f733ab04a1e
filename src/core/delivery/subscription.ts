/**
 * Replay then tail, in one code path. A subscription is a cursor: it reads from the store when its sink has room, so it queues nothing.
 * Subscriptions at the tail share the bytes of each commit.
 */
import type { Clock } from '../ports/clock.ts'
import { HoldfastError, isHoldfastError } from '../model/errors.ts'
import type { Limits } from '../model/limits.ts'
import { sliceFault, readLog } from './read-log.ts'
import { shareEventLoop } from '../runtime/share-event-loop.ts'
import { lastMark, lastOf, sliceAfter, sliceBefore, type Slice } from '../model/record.ts'
import type { Hint, Store } from '../ports/store.ts'
import { repeatTimer } from '../runtime/timer.ts'

/** A page with fewer bytes than this share of what a read may return was most likely the last one. */
const FULL_PAGE_SHARE = 0.5
/** How much larger pages become for a sink that takes them faster than the store reads them: each page costs a round trip. */
const FAST_PAGE_FACTOR = 4

/** Where a subscription delivers. */
export interface Sink {
  /** It passes records on as they are, so that a large slice costs it no more time than a small one. */
  readonly copiesRecords?: boolean
  /** Takes a slice; false when it has no room for another until `resume` is called. */
  write(slice: Slice): boolean
  /** The terminal event was delivered. */
  finished(): void
  /** The log cannot be read on: trimmed, removed, or the store is gone. */
  failed(cause: unknown): void
}

/** The subscriptions of one node, by run. */
export class Feeds {
  readonly #store: Store
  readonly #limits: Limits
  readonly #feeds = new Map<string, Feed>()
  readonly #stopPolling: () => void

  constructor(store: Store, limits: Limits, clock?: Clock) {
    this.#store = store
    this.#limits = limits
    this.#stopPolling = repeatTimer(() => this.#poll(), limits.pollIntervalMs, clock)
  }

  /** Delivers the records after an index, for as long as there are any to come. */
  open(run: string, after: number, sink: Sink, onClose?: () => void): Subscription {
    const size = this.#feeds.get(run)?.size ?? 0
    if (size >= this.#limits.maxSubscribersPerRun) {
      throw new HoldfastError(
        'rate_limited',
        `run ${run} has ${size} subscribers on this node, which is the limit: try again later`,
        {
          retryAfterMs: this.#limits.retryDelayMs,
        },
      )
    }
    return this.wait(run, after, sink, onClose)
  }

  /** Like `open`, for a caller that only waits for the next event: it does not count as a subscriber. */
  wait(run: string, after: number, sink: Sink, onClose?: () => void): Subscription {
    let feed = this.#feeds.get(run)
    if (feed === undefined) {
      feed = new Feed(this.#store, run, () => this.#feeds.delete(run))
      this.#feeds.set(run, feed)
    }
    return feed.add(after, sink, this.#limits.maxReadBytes, onClose)
  }

  /** Open subscriptions. */
  get size(): number {
    let size = 0
    for (const feed of this.#feeds.values()) size += feed.size
    return size
  }

  /** Lag of the slowest subscription, in events. */
  get lag(): number {
    let lag = 0
    for (const feed of this.#feeds.values()) lag = Math.max(lag, feed.lag)
    return lag
  }

  close(): void {
    this.#stopPolling()
  }

  /** Polls the log, because hints may be lost. */
  #poll(): void {
    for (const feed of this.#feeds.values()) {
      feed.dropReadAhead()
      void feed.poll()
    }
  }
}

/** All subscriptions of one run. */
class Feed {
  readonly #store: Store
  readonly #run: string
  readonly #subscriptions = new Set<Subscription>()
  readonly #unwatch: () => void
  readonly #onEmpty: () => void
  #hinted = false
  #polling = false

  constructor(store: Store, run: string, onEmpty: () => void) {
    this.#store = store
    this.#run = run
    this.#onEmpty = onEmpty
    // Before anyone reads: what is appended in between wakes us (no event can come too early to be noticed).
    this.#unwatch = store.watch(run, (hint) => this.#wake(hint))
  }

  get size(): number {
    return this.#subscriptions.size
  }

  get lag(): number {
    let lag = 0
    for (const subscription of this.#subscriptions) lag = Math.max(lag, subscription.lag)
    return lag
  }

  add(after: number, sink: Sink, maxReadBytes: number, onClose?: () => void): Subscription {
    const subscription = new Subscription(this.#store, this.#run, after, sink, maxReadBytes, () => {
      this.#remove(subscription)
      onClose?.()
    })
    this.#subscriptions.add(subscription)
    subscription.resume()
    return subscription
  }

  dropReadAhead(): void {
    for (const subscription of this.#subscriptions) subscription.dropReadAhead()
  }

  /** Asks once at a time, however long the store takes to answer. */
  async poll(): Promise<void> {
    const hinted = this.#hinted
    this.#hinted = false
    if (hinted || this.#polling) return
    let next: number
    this.#polling = true
    try {
      next = (await this.#store.get(this.#run))?.next ?? Infinity // a run that is gone is noticed by reading it
    } catch {
      return
    } finally {
      this.#polling = false
    }
    for (const subscription of this.#subscriptions) {
      subscription.offer({ run: this.#run, next })
      subscription.recheck(next)
    }
  }

  #wake(hint: Hint): void {
    this.#hinted = true
    const { slice, ...rest } = hint
    const isSound = slice === undefined || sliceFault(this.#run, slice.first - 1, slice) === undefined
    const offered = isSound ? hint : rest // what is not sound is read instead
    for (const subscription of this.#subscriptions) subscription.offer(offered)
  }

  #remove(subscription: Subscription): void {
    this.#subscriptions.delete(subscription)
    if (this.#subscriptions.size > 0) return
    this.#unwatch()
    this.#onEmpty()
  }
}

export class Subscription {
  readonly #store: Store
  readonly #run: string
  readonly #sink: Sink
  readonly #maxReadBytes: number
  /** What the next read may return. */
  #pageBytes: number
  readonly #onClose: () => void
  #cursor: number
  /** Mark of the record at the cursor, once one was delivered. */
  #mark: string | undefined
  /** There was a write at an index that is already delivered: the log may have lost its end and been rewritten. */
  #isDoubted = false
  /** Records known to be durable. */
  #known = 0
  #state: 'tail' | 'reading' | 'full' | 'closed' = 'tail'
  /** The page after the one that was delivered last: the store reads it while the sink takes that one. */
  #ahead: Promise<Slice | undefined> | undefined
  #isAheadHere = false
  /** Reading has paused, so the log may have changed: the next read also checks the record at the cursor. */
  #hasPaused = true

  constructor(store: Store, run: string, after: number, sink: Sink, maxReadBytes: number, onClose: () => void) {
    this.#store = store
    this.#run = run
    this.#cursor = after
    this.#sink = sink
    this.#maxReadBytes = maxReadBytes
    this.#pageBytes = maxReadBytes
    this.#onClose = onClose
  }

  /** Index of the last record delivered. */
  get cursor(): number {
    return this.#cursor
  }

  /** Events that are known to be there and were not delivered. */
  get lag(): number {
    const behind = this.#known - (this.#cursor + 1)
    return Number.isFinite(behind) ? Math.max(behind, 0) : 0 // of a run that is gone there is nothing to deliver
  }

  /** Something may be new. */
  offer(hint: Hint): void {
    if (hint.next > this.#known) this.#known = hint.next
    if (this.#state !== 'tail') return
    this.#isDoubted ||= hint.next <= this.#cursor || (hint.slice !== undefined && hint.slice.first <= this.#cursor)
    if (hint.slice?.first === this.#cursor + 1 && !this.#isDoubted) this.#deliver(hint.slice)
    else if (this.#known > this.#cursor + 1) void this.#read()
  }

  /** The log seems to be shorter than what was delivered, as after a failover that lost its end: the store is asked (SUB-2). */
  recheck(next: number): void {
    if (this.#state === 'tail' && next <= this.#cursor) void this.#read()
  }

  /** The sink has room (again). */
  resume(): void {
    if (this.#state === 'full' && this.#sink.copiesRecords === true) {
      const isFasterThanStore = this.#ahead !== undefined && !this.#isAheadHere
      this.#pageBytes = isFasterThanStore ? this.#maxReadBytes * FAST_PAGE_FACTOR : this.#maxReadBytes
    }
    if (this.#state === 'tail' || this.#state === 'full') void this.#read()
  }

  get closed(): boolean {
    return this.#state === 'closed'
  }

  close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.#onClose()
  }

  /** Drops the page read ahead for a sink that has been full for a while: stalled sinks hold none (SUB-1). */
  dropReadAhead(): void {
    if (this.#state === 'full' && this.#isAheadHere) this.#ahead = undefined
  }

  async #read(): Promise<void> {
    this.#state = 'reading'
    try {
      while (this.#state === 'reading') {
        await shareEventLoop()
        if (this.#isClosed()) return
        const known = this.#known
        const slice = await this.#next()
        if (this.#isClosed()) return
        this.#isDoubted = false
        if (slice !== undefined) {
          if (!slice.closed && slice.bytes.length >= this.#maxReadBytes * FULL_PAGE_SHARE)
            this.#readAhead(lastOf(slice))
          this.#deliver(slice)
        } else if (this.#known === known) {
          this.#state = 'tail' // nothing was announced while we looked
        }
      }
    } catch (cause) {
      this.fail(cause)
    }
    this.#hasPaused ||= this.#ahead === undefined
  }

  async #next(): Promise<Slice | undefined> {
    const ahead = this.#ahead
    this.#ahead = undefined
    if (ahead !== undefined) return ahead
    const overlapping = this.#hasPaused ? await this.#checkedNext() : undefined
    this.#hasPaused = false
    return overlapping ?? this.#readAfter(this.#cursor)
  }

  #readAhead(after: number): void {
    this.#isAheadHere = false
    const ahead = this.#readAfter(after)
    this.#ahead = ahead
    const arrived = (): void => {
      if (this.#ahead !== ahead || this.#state !== 'full') return
      this.#isAheadHere = true
      this.#hasPaused = true // what comes after it is read later, when the sink has room
    }
    ahead.then(arrived, arrived)
  }

  /**
   * Reads the record at the cursor together with the next page, to detect a log that was rewritten after a failover (SUB-2). Undefined
   * if there is no next page.
   */
  async #checkedNext(): Promise<Slice | undefined> {
    const [cursor, mark] = [this.#cursor, this.#mark]
    if (mark === undefined) return undefined
    const overlapping = await this.#readAfter(cursor - 1).catch((cause: unknown) => {
      if (isHoldfastError(cause, 'cursor_expired')) return undefined // that record was trimmed
      throw cause
    })
    if (overlapping === undefined) return undefined
    if (lastMark(sliceBefore(overlapping, cursor + 1)) !== mark) {
      const what = `event ${cursor} is not the one that was sent; the log was restored or lost events`
      throw new HoldfastError('log_changed', `run ${this.#run}: ${what}. Read it from the beginning`)
    }
    return overlapping.count > 1 ? sliceAfter(overlapping, cursor) : undefined
  }

  #readAfter(after: number): Promise<Slice | undefined> {
    return readLog(this.#store, this.#run, after, this.#pageBytes)
  }

  /** Ends it, and passes the reason to its sink. */
  fail(cause: unknown): void {
    if (this.#isClosed()) return
    this.close()
    this.#sink.failed(cause)
  }

  #deliver(slice: Slice): void {
    this.#cursor = lastOf(slice)
    this.#mark = lastMark(slice)
    let room: boolean
    try {
      room = this.#sink.write(slice)
    } catch (cause) {
      return this.fail(cause)
    }
    if (slice.closed) {
      this.close()
      this.#sink.finished()
    } else if (!room && !this.#isClosed()) {
      this.#state = 'full'
    }
  }

  /** A method, because the state can change during any await or callback. */
  #isClosed(): boolean {
    return this.#state === 'closed'
  }
}
