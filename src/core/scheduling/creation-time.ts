/** Creation times of runs. They never decrease, so that listings and sessions keep the order in which runs were started. */
import type { Clock } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'

/** A run whose creation time is further ahead of the clock than this is ignored. */
const AHEAD_MAX_MS = 25 * 60 * 60 * 1000

export class CreationTime {
  readonly #store: Store
  readonly #clock: Clock
  #seeded: Promise<void> | undefined
  #last = 0

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Milliseconds since 1970: now, or the time of the last run if the clock was set back since. */
  async next(): Promise<number> {
    this.#seeded ??= this.#seed()
    await this.#seeded
    const now = this.#clock.now()
    this.#last = this.#last - now > AHEAD_MAX_MS ? now : Math.max(this.#last, now)
    return this.#last
  }

  /** Reads the newest run: the clock may have been set back while no process was running. */
  async #seed(): Promise<void> {
    try {
      const [newest] = (await this.#store.list({ limit: 1 })).runs
      // One later: ids order runs of the same millisecond, and after a restart they follow the clock again.
      if (newest !== undefined) this.#last = Date.parse(newest.run.createdAt) + 1
    } catch (cause) {
      this.#seeded = undefined // the next start reads again
      throw cause
    }
  }
}
