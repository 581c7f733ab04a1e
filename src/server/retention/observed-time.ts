/**
 * Whether the wall clock may be believed when it says that something is old. After it jumped, or after nobody watched it for more than
 * an hour, it may be wrong: what it says counts again when 24 hours have been observed. The store remembers the last look.
 */
import { type Clock, elapsedOf } from '../../core/ports/clock.ts'
import type { Store } from '../../core/ports/store.ts'

const HOUR_MS = 60 * 60 * 1000
/** How far the wall clock may be off, and how long nobody may watch it. */
const SLACK_MS = HOUR_MS
const OBSERVE_MS = 24 * HOUR_MS

/** No principal has an owner key with a bare percent sign. */
const ABOUT = { owner: '%holdfast', collection: 'time', id: 'retention' }

interface ClockReading {
  readonly now: number
  readonly elapsed: number
}

export interface ObservedTimeState {
  /** How long it must still be observed; 0 when it may be believed. */
  readonly waitMs: number
  /** Why it is not believed, where that was found out just now. */
  readonly distrust?: string
}

export class ObservedTime {
  readonly #store: Store
  readonly #clock: Clock
  #last: ClockReading | undefined
  #waitMs = 0

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  async look(): Promise<ObservedTimeState> {
    const now: ClockReading = { now: this.#clock.now(), elapsed: elapsedOf(this.#clock) }
    const known = await this.#store.documents.get(ABOUT.owner, ABOUT.collection, ABOUT.id)
    const distrust = this.#last === undefined ? this.#resume(now, known?.body) : this.#goOn(now, this.#last)
    if (distrust !== undefined) this.#waitMs = OBSERVE_MS
    this.#last = now
    // Where another node was faster, its look will do.
    await this.#store.documents.put({ ...ABOUT, body: { at: now.now, waitMs: this.#waitMs } }, known?.version ?? 0)
    return { waitMs: this.#waitMs, ...(distrust !== undefined && { distrust }) }
  }

  /** The first look of this process: how it was left. */
  #resume({ now }: ClockReading, body: unknown): string | undefined {
    const { at, waitMs } = (body ?? {}) as { at?: unknown; waitMs?: unknown }
    if (typeof at !== 'number' || typeof waitMs !== 'number') return 'nobody has watched the clock of this store yet'
    this.#waitMs = waitMs
    const gapMs = now - at
    if (Math.abs(gapMs) <= SLACK_MS) return undefined
    return gapMs < 0
      ? `the clock is ${hours(gapMs)} behind the last look at this store`
      : `nobody has watched the clock for ${hours(gapMs)}`
  }

  #goOn(now: ClockReading, last: ClockReading): string | undefined {
    const passedMs = now.elapsed - last.elapsed
    const jumpMs = now.now - last.now - passedMs
    this.#waitMs = Math.max(this.#waitMs - passedMs, 0)
    if (Math.abs(jumpMs) > SLACK_MS) return `the clock jumped by ${hours(jumpMs)}`
    return passedMs > SLACK_MS ? `nobody has watched the clock for ${hours(passedMs)}` : undefined
  }
}

function hours(milliseconds: number): string {
  return `${Math.round(Math.abs(milliseconds) / HOUR_MS)} hours`
}
