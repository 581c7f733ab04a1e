/**
 * One protocol's view of one run, shared by all its subscribers on this node. Projections are pure, so every subscriber would fold
 * the same: subscribers at the tail share each step and its encoded bytes, and later ones start at a checkpoint near their position.
 * This is only a cache: an evicted view is rebuilt from the log.
 */
import { HoldfastError } from '../model/errors.ts'
import type { Limits } from '../model/limits.ts'
import { lastMark, lastOf, markOf, parseEnvelope, type Slice } from '../model/slice.ts'
import type { Run } from '../model/run.ts'
import type { Store } from '../ports/store.ts'
import { shareEventLoop } from '../runtime/share-event-loop.ts'
import { type FoldBatch, foldBatch, itemsOf } from './fold-batches.ts'
import type { Fold } from './fold-queue.ts'
import { batchesAfter, isInLog, recordsAfter } from './follow-log.ts'
import { retainedBytes } from './retained-bytes.ts'
import { readCheckedLog } from './read-log.ts'
import { oncePerTick } from './tick-memo.ts'
import type { ViewCache, ViewKind } from './view-cache.ts'
import { ViewPosition } from './view-position.ts'
import { StepFrames, ViewStep } from './view-step.ts'

/** The fold after an event of the log. States are immutable and share their structure. */
export interface Checkpoint<State> {
  /** Index of the event. Before the first event: one less than its index. */
  readonly index: number
  /** Identifies the event's record, in case the log loses its end and another event gets this index. */
  readonly mark: string | undefined
  readonly state: State
  /** Estimated memory of the fold. */
  readonly bytes: number
  /** Whether the view or several subscribers reference it. A flag, because a set of them costs more in garbage collection than the fold. */
  isShared: boolean
}

/** The position in the log that corresponds to a position among the frames. */
export interface LogCursor {
  /** Index of the last event whose frames the client has completely. */
  readonly index: number
  /** The client has no frame of a later event. Otherwise a client that continues at the index receives some frames again. */
  readonly isExact: boolean
}

interface FoldedEvent<State> {
  readonly index: number
  readonly after: State
}

interface ViewParts<State, Frame> {
  readonly kind: ViewKind<State, Frame>
  readonly run: Run
  readonly first: number
  readonly store: Store
  readonly limits: Limits
  readonly cache: ViewCache
}

/** Events between checkpoints near the end of the log. */
const CHECKPOINT_EVENTS = 32
/** Estimated growth after which memory is charged again. */
const CHARGED_BYTES = 64 * 1024
/** The same threshold while the run is followed: what a view without checkpoints is charged. */
const LIVE_CHARGED_BYTES = 4096
/** How much larger the pages are from which a view is built: each costs a round trip to the store. */
const BUILD_PAGE_FACTOR = 4

export class SharedView<State, Frame> {
  readonly start: Checkpoint<State>
  readonly #parts: ViewParts<State, Frame>
  /** Oldest first. Dense near the end of the log and sparse before it. */
  #checkpoints: Checkpoint<State>[] = []
  #tip: Checkpoint<State>
  #building: Promise<Checkpoint<State>> | undefined
  /** Estimated memory that was charged to the cache. */
  #charged = -Infinity

  constructor(parts: ViewParts<State, Frame>) {
    this.#parts = parts
    const { kind, run, first } = parts
    this.start = { index: first - 1, mark: undefined, state: kind.projection.initial(run), bytes: 0, isShared: true }
    this.#tip = this.start
  }

  get run(): Run {
    return this.#parts.run
  }

  /** Number of checkpoints kept, besides the newest state. */
  get checkpoints(): number {
    return this.#checkpoints.length
  }

  /** Drops everything that can be rebuilt from the log. */
  forget(): void {
    this.#checkpoints = []
    this.#tip = this.start
    this.#charged = -Infinity
  }

  /** Folds a slice that follows a checkpoint. Subscribers of the same slice share the result. */
  step(before: Checkpoint<State>, slice: Slice): ViewStep<State, Frame> {
    let isKnown = true
    const fold = (): ViewStep<State, Frame> => {
      isKnown = false
      return this.#fold(before, slice)
    }
    const step = oncePerTick(slice, this, fold, (known) => isSame(known.before, before))
    if (isKnown) step.after.isShared = true
    return step
  }

  /**
   * Folds to the end of the log. `next`: the caller knows that the log has all events before this index. Concurrent callers share
   * the work. Throws `too_large` if the state would exceed the memory limit of views.
   */
  async current(next: number): Promise<Checkpoint<State>> {
    const end = await this.#building
    if (end !== undefined && end.index >= next - 1) return end
    // A reader that starts now reads the whole log, even if the log has lost its end since.
    this.#building ??= this.#folding((fold) => this.#build(fold)).finally(() => (this.#building = undefined))
    return this.#building
  }

  /**
   * The newest checkpoint before both an event and a frame. Call it after `current` or `verify`: only then do the checkpoints match
   * the log.
   */
  nearest({ event, frame = Infinity }: { readonly event: number; readonly frame?: number }): Checkpoint<State> {
    const { position } = this.#parts.kind
    const fits = ({ index, state }: Checkpoint<State>): boolean => index < event && position(state) <= frame
    if (fits(this.#tip)) return this.#tip
    return this.#checkpoints.findLast(fits) ?? this.start
  }

  /**
   * Number of the last frame of the events up to an index, which must be in the log. If there is none: one less than the first
   * number.
   */
  frameAt(index: number): Promise<number> {
    return this.#folding(async (fold) => {
      const from = this.nearest({ event: index + 1 })
      let { state } = from
      for await (const step of this.#eventsAfter(from, fold)) {
        if (step.index > index) break
        state = step.after
      }
      return this.#nextNumber(state) - 1
    })
  }

  /** The log cursor of a client that has the frames up to a number. Throws `cursor_invalid` if there is no such frame. */
  async cursorAt(frame: number): Promise<LogCursor> {
    const { state, index } = await this.#folding((fold) => this.#eventBefore(frame, fold))
    const last = this.#nextNumber(state) - 1
    if (last === frame) return { index, isExact: true }
    if ((await this.frameAt(Infinity)) >= frame) return { index, isExact: false }
    throw new HoldfastError('cursor_invalid', `run ${this.run.id} has no frame ${frame}: the last one is ${last}`)
  }

  /** The last event whose frames a client with the frames up to `frame` has completely. */
  async #eventBefore(frame: number, fold: Fold): Promise<Pick<Checkpoint<State>, 'state' | 'index'>> {
    const from = this.nearest({ event: Infinity, frame: frame + 1 })
    let { state, index } = from
    for await (const step of this.#eventsAfter(from, fold)) {
      if (this.#nextNumber(step.after) > frame + 1) break
      ;({ after: state, index } = step)
    }
    return { state, index }
  }

  /** Runs a fold within the node's limits, charged to the owner of the run. */
  async #folding<Result>(act: (fold: Fold) => Promise<Result>): Promise<Result> {
    const fold = this.#parts.cache.folds.begin(this.run.owner)
    try {
      return await act(fold)
    } finally {
      fold.end()
    }
  }

  #nextNumber(state: State): number {
    const { position, nextNumber = position } = this.#parts.kind
    return nextNumber(state)
  }

  async *#eventsAfter(
    { index: after, state, bytes: sharedBytes }: Checkpoint<State>,
    fold: Fold,
  ): AsyncGenerator<FoldedEvent<State>, void, void> {
    const { store, run, limits, kind } = this.#parts
    const bounds = { maxBytes: limits.maxReadBytes, atOnce: CHECKPOINT_EVENTS, fold }
    let at = state
    let ownBytes = 0
    for await (const records of recordsAfter(store, run.id, after, bounds)) {
      for (const { envelope, index, isAscii } of records) {
        const event = parseEnvelope(envelope, run.id, index)
        at = kind.projection.apply(at, event).state
        ownBytes += retainedBytes(event, envelope.length, isAscii)
        yield { index, after: at }
      }
      fold.retain({ view: this, sharedBytes, ownBytes })
    }
  }

  /** Steps from a checkpoint to the log's current end, a page at a time. */
  async *steps(from: Checkpoint<State>): AsyncGenerator<ViewStep<State, Frame>, void, void> {
    const { store, run, limits, cache } = this.#parts
    const fold = cache.folds.begin(run.owner)
    const position = new ViewPosition(this, from)
    try {
      for (;;) {
        await shareEventLoop()
        const slice = await readCheckedLog(store, run.id, position.at.index, limits.maxReadBytes)
        if (slice === undefined) return
        yield position.take(slice)
        if (slice.closed) return
        fold.retain(position.referenced)
        await fold.proceed()
      }
    } finally {
      fold.end()
    }
  }

  /** Drops checkpoints that the log no longer contains, such as after a failover that lost its end. */
  async verify(): Promise<void> {
    await this.#verified()
  }

  #fold(before: Checkpoint<State>, slice: Slice): ViewStep<State, Frame> {
    const { projection, mayEnd } = this.#parts.kind
    const frames = new StepFrames(mayEnd)
    const items = itemsOf(slice, this.run.id)
    const state = foldBatch(projection, before.state, items, frames)
    const bytes = before.bytes + items.bytes
    const folded = { index: lastOf(slice), mark: lastMark(slice), state, bytes, isShared: false }
    // A subscriber that has caught up shares the state that the view has.
    const after = isSame(folded, this.#tip) ? this.#tip : folded
    // The log may have lost its end meanwhile. Only a step that follows the newest checkpoint certainly belongs to the current log.
    if (before === this.start || isSame(before, this.#tip)) this.#note(after)
    return new ViewStep(before, after, frames)
  }

  /** Folds to the end of the log without blocking the event loop. */
  async #build(fold: Fold): Promise<Checkpoint<State>> {
    const { store, run, limits } = this.#parts
    const bounds = { maxBytes: BUILD_PAGE_FACTOR * limits.maxReadBytes, atOnce: CHECKPOINT_EVENTS, fold }
    let at = await this.#verified()
    for await (const batch of batchesAfter(store, run.id, at.index, bounds)) {
      at = this.#foldTo(at, batch)
      if (at.bytes > Math.max(limits.maxViewCacheBytes, limits.maxUnstreamedLogBytes)) throw logTooLarge(run.id)
      this.#extend(at)
      if (!this.#charge(CHARGED_BYTES)) continue
      fold.retain({ view: this, sharedBytes: at.bytes, ownBytes: 0 })
    }
    this.#charge(0)
    return at
  }

  /** No other subscriber gets these records, so parsed events are not cached. */
  #foldTo({ state, bytes }: Checkpoint<State>, batch: FoldBatch): Checkpoint<State> {
    const { last, envelope } = batch
    return {
      index: last,
      mark: markOf(envelope),
      state: foldBatch(this.#parts.kind.projection, state, batch),
      bytes: bytes + batch.bytes,
      isShared: false,
    }
  }

  /** The newest checkpoint, if its record is still in the log. */
  async #verified(): Promise<Checkpoint<State>> {
    const tip = this.#tip
    if (tip === this.start) return tip
    if (await isInLog(this.#parts.store, this.#parts.run.id, tip)) return tip
    this.forget()
    return this.start
  }

  #note(checkpoint: Checkpoint<State>): void {
    if (checkpoint.index <= this.#tip.index) return
    this.#extend(checkpoint)
    this.#charge(LIVE_CHARGED_BYTES)
  }

  /** Whether enough was added to charge it. */
  #charge(leastBytes: number): boolean {
    const { bytes } = this.#tip
    if (this.#tip === this.start || bytes - this.#charged < leastBytes) return false
    this.#charged = bytes
    this.#parts.cache.charge(this, bytes)
    return true
  }

  #extend(checkpoint: Checkpoint<State>): void {
    if (checkpoint.index <= this.#tip.index) return
    const last = this.#checkpoints.at(-1) ?? this.start
    if (this.#tip !== this.start && this.#tip.index - last.index >= CHECKPOINT_EVENTS) this.#keep(this.#tip)
    this.#tip = checkpoint
    checkpoint.isShared = true
  }

  /** Thins out old checkpoints: a subscriber that missed `n` events then folds at most about `n` others. */
  #keep(checkpoint: Checkpoint<State>): void {
    const kept: Checkpoint<State>[] = [checkpoint]
    let newer = checkpoint.index
    let candidate: Checkpoint<State> | undefined
    for (const older of this.#checkpoints.toReversed()) {
      // `candidate` can go if its neighbours are no further apart than the newer one is from the end.
      if (candidate !== undefined && newer - older.index > checkpoint.index - newer) {
        kept.push(candidate)
        newer = candidate.index
      }
      candidate = older
    }
    if (candidate !== undefined) kept.push(candidate)
    this.#checkpoints = kept.toReversed()
  }
}

function isSame(one: Checkpoint<unknown>, other: Checkpoint<unknown>): boolean {
  return one === other || (one.index === other.index && one.mark === other.mark)
}

function logTooLarge(id: string): HoldfastError {
  return new HoldfastError(
    'too_large',
    `the log of run ${id} is too large to resume in this protocol; stream it from the beginning, or use the native protocol`,
  )
}
