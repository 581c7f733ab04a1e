/**
 * Decides whether the wall clock can be trusted for ages. After a jump, or an hour without observation, it is trusted again only
 * after 24 observed hours. The store keeps the last observation.
 */
import { type Clock, elapsedOf } from '../../core/ports/clock.ts'
import type { Store } from '../../core/ports/store.ts'

const HOUR_MS = 60 * 60 * 1000
/** Tolerated clock jump, and tolerated gap between observations. */
const SLACK_MS = HOUR_MS
const OBSERVE_MS = 24 * HOUR_MS

/** No principal has an owner key with a bare percent sign. */
const ABOUT = { owner: '%holdfast', collection: 'time', id: 'retention' }

interface ClockReading {
  readonly now: number
  readonly elapsed: number
}

export interface ObservedTimeState {
  /** Remaining observation time; 0 if the clock is trusted. */
  readonly waitMs: number
  /** Why the clock has just lost trust. */
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
    const distrust = this.#last === undefined ? this.#resume(now, known?.body) : this.#advance(now, this.#last)
    if (distrust !== undefined) this.#waitMs = OBSERVE_MS
    this.#last = now
    // If another node was faster, its observation is enough.
    await this.#store.documents.put({ ...ABOUT, body: { at: now.now, waitMs: this.#waitMs } }, known?.version ?? 0)
    return { waitMs: this.#waitMs, ...(distrust !== undefined && { distrust }) }
  }

  /** First observation of this process: compares with the stored one. */
  #resume({ now }: ClockReading, body: unknown): string | undefined {
    const { at, waitMs } = (body ?? {}) as { at?: unknown; waitMs?: unknown }
    if (typeof at !== 'number' || typeof waitMs !== 'number') return 'this store has no clock observation yet'
    this.#waitMs = waitMs
    const gapMs = now - at
    if (Math.abs(gapMs) <= SLACK_MS) return undefined
    return gapMs < 0
      ? `the clock is ${hours(gapMs)} behind the last observation in this store`
      : `the clock was not observed for ${hours(gapMs)}`
  }

  #advance(now: ClockReading, last: ClockReading): string | undefined {
    const passedMs = now.elapsed - last.elapsed
    const jumpMs = now.now - last.now - passedMs
    this.#waitMs = Math.max(this.#waitMs - passedMs, 0)
    if (Math.abs(jumpMs) > SLACK_MS) return `the clock jumped by ${hours(jumpMs)}`
    return passedMs > SLACK_MS ? `the clock was not observed for ${hours(passedMs)}` : undefined
  }
}

function hours(milliseconds: number): string {
  return `${Math.round(Math.abs(milliseconds) / HOUR_MS)} hours`
}
