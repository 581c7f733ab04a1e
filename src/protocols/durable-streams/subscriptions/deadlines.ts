/**
 * When leases and retries of subscriptions are over, by the monotonic clock. Stored times are of the wall clock, which may be set: this
 * node measures from the moment at which it first saw them.
 */
import { type Clock, elapsedOf } from '../../../core/ports/clock.ts'
import type { KnownSubscription } from './documents.ts'
import { timeLimitOf } from './model.ts'

/** Maximum known times. The oldest are dropped, and measured anew when the scan sees them. */
const TIMES_MAX = 10_000

interface KnownTime {
  readonly owner: string
  readonly id: string
  /** The stored time. */
  readonly until: number
  /** By the monotonic clock. */
  readonly end: number
}

export class Deadlines {
  readonly #clock: Clock
  readonly #times = new Map<string, KnownTime>()
  /** Called when a time becomes known. */
  onTime: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#times.size
  }

  /** Whether the time that the subscription waits for is over; true if it waits for none. */
  isOver({ owner, id, state }: Pick<KnownSubscription, 'owner' | 'id' | 'state'>): boolean {
    const key = keyOf(owner, id)
    const limit = timeLimitOf(state)
    if (limit === undefined) {
      this.#times.delete(key)
      return true
    }
    const { until, maxMs } = limit
    const elapsed = elapsedOf(this.#clock)
    const known = this.#times.get(key)
    if (known?.until === until) return known.end <= elapsed
    // A time further ahead than its duration was stored before the wall clock was set back.
    const restMs = Math.min(Math.max(until - this.#clock.now(), 0), maxMs)
    this.#times.delete(key)
    this.#times.set(key, { owner, id, until, end: elapsed + restMs })
    if (this.#times.size > TIMES_MAX) this.#times.delete(this.#times.keys().next().value!)
    this.onTime?.()
    return restMs === 0
  }

  forget(owner: string, id: string): void {
    this.#times.delete(keyOf(owner, id))
  }

  /** Subscriptions whose time is over. They stay here until they are looked at. */
  *over(): Iterable<{ readonly owner: string; readonly id: string }> {
    const elapsed = elapsedOf(this.#clock)
    for (const time of this.#times.values()) if (time.end <= elapsed) yield time
  }
}

function keyOf(owner: string, id: string): string {
  return JSON.stringify([owner, id])
}
