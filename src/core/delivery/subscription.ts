/**
 * Delivers a log from a cursor: replay, then tail, in one code path. A subscription reads from the store when its sink has room, so
 * it queues nothing. Subscriptions at the tail share the bytes of each commit.
 */
import { HoldfastError, isHoldfastError } from '../model/errors.ts'
import type { RunReads } from './run-reads.ts'
import { shareEventLoop } from '../runtime/share-event-loop.ts'
import { lastMark, lastOf, sliceAfter, sliceBefore, type Slice } from '../model/slice.ts'
import type { Hint } from '../ports/store.ts'
import type { ReferencedState } from './view-memory.ts'

/** A page smaller than this share of the maximum was most likely the last one. */
const FULL_PAGE_SHARE = 0.5
/** Factor by which pages grow for a sink that consumes them faster than the store reads them: each page costs a round trip. */
const FAST_PAGE_FACTOR = 4

/** Receives the records of a subscription. */
export interface Sink {
  /** The sink forwards records unchanged, so a large slice costs it no more time than a small one. */
  readonly copiesRecords?: boolean
  /** View state that the sink references now. */
  readonly referenced?: ReferencedState | undefined
  /** Whether part of the last slice is unsent: the sink sends it before it calls `resume`. */
  readonly hasUnsent?: boolean
  /** Accepts a slice. Returns false if it has no room for another until `resume` is called. */
  write(slice: Slice): boolean
  /** The terminal event was delivered. */
  finished(): void
  /** The log can no longer be read: it was trimmed or removed, or the store failed. */
  failed(cause: unknown): void
}

export class Subscription {
  readonly #reads: RunReads
  readonly #run: string
  readonly #sink: Sink
  readonly #maxReadBytes: number
  /** Maximum bytes of the next read. */
  #pageBytes: number
  readonly #onClose: () => void
  #cursor: number
  /** Mark of the record at the cursor, once a record was delivered. */
  #mark: string | undefined
  /** A write announced an index that was already delivered: the log may have lost its end and been rewritten. */
  #needsVerification = false
  /** Number of records known to be durable. */
  #known = 0
  #state: 'tail' | 'reading' | 'full' | 'closed' = 'tail'
  /** The next page, which the store reads while the sink consumes the current one. */
  #ahead: Promise<Slice | undefined> | undefined
  #isReadAheadLoaded = false
  /** The sink has the terminal event but has not sent it yet. */
  #isAtEnd = false
  /** Reading has paused and the log may have changed, so the next read also checks the record at the cursor. */
  #hasPaused = true

  constructor(reads: RunReads, run: string, after: number, sink: Sink, maxReadBytes: number, onClose: () => void) {
    this.#reads = reads
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

  /** Number of known events that were not delivered yet. */
  get lag(): number {
    const behind = this.#known - (this.#cursor + 1)
    return Number.isFinite(behind) ? Math.max(behind, 0) : 0 // a removed run has nothing to deliver
  }

  /** Handles a hint: delivers its slice if it starts right after the cursor, otherwise reads the log. */
  offer(hint: Hint): void {
    if (hint.next > this.#known) this.#known = hint.next
    if (this.#state !== 'tail') return
    this.#needsVerification ||=
      hint.next <= this.#cursor || (hint.slice !== undefined && hint.slice.first <= this.#cursor)
    if (hint.slice?.first === this.#cursor + 1 && !this.#needsVerification) this.#deliver(hint.slice)
    else if (this.#known > this.#cursor + 1) void this.#read()
  }

  /** Reads the log again if it seems shorter than what was delivered, which happens if a failover lost its end (SUB-2). */
  recheck(next: number): void {
    if (this.#state === 'tail' && next <= this.#cursor) void this.#read()
  }

  /** Continues: the sink has room. */
  resume(): void {
    if (this.#state === 'full' && this.#isAtEnd) return this.#finish()
    if (this.#state === 'full' && this.#sink.copiesRecords === true) {
      const isFasterThanStore = this.#ahead !== undefined && !this.#isReadAheadLoaded
      this.#pageBytes = isFasterThanStore ? this.#maxReadBytes * FAST_PAGE_FACTOR : this.#maxReadBytes
    }
    if (this.#state === 'tail' || this.#state === 'full') void this.#read()
  }

  get isClosed(): boolean {
    return this.#state === 'closed'
  }

  close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.#onClose()
  }

  /** Drops the page that was read ahead, if the sink stays full: stalled sinks must not hold memory (SUB-1). */
  dropReadAhead(): void {
    if (this.#state === 'full' && this.#isReadAheadLoaded) this.#ahead = undefined
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
        this.#needsVerification = false
        if (slice !== undefined) {
          if (!slice.closed && slice.bytes.length >= this.#maxReadBytes * FULL_PAGE_SHARE)
            this.#readAhead(lastOf(slice))
          this.#deliver(slice)
        } else if (this.#known === known) {
          this.#state = 'tail' // no hint arrived during the read
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
    if (overlapping !== undefined) return overlapping
    return this.#mark === undefined
      ? this.#reads.together(this.#cursor, this.#pageBytes)
      : this.#readAfter(this.#cursor)
  }

  #readAhead(after: number): void {
    this.#isReadAheadLoaded = false
    const ahead = this.#readAfter(after)
    this.#ahead = ahead
    const arrived = (): void => {
      if (this.#ahead !== ahead || this.#state !== 'full') return
      this.#isReadAheadLoaded = true
      this.#hasPaused = true // later records are read when the sink has room
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
      if (isHoldfastError(cause, 'cursor_expired')) return undefined // the record was trimmed
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
    return this.#reads.after(after, this.#pageBytes)
  }

  /** Ends the subscription and passes the reason to the sink. */
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
    this.#isAtEnd = slice.closed
    if (slice.closed && this.#sink.hasUnsent !== true) this.#finish()
    else if (!room && !this.#isClosed()) this.#state = 'full'
  }

  #finish(): void {
    this.close()
    this.#sink.finished()
  }

  /** A method, because the state can change during any await or callback. */
  #isClosed(): boolean {
    return this.#state === 'closed'
  }
}
