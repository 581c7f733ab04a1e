/** Owners known to have no subscriptions: their appends need no look at the store. */
import { type Clock, elapsedOf } from '../../../core/ports/clock.ts'

const OWNERS_MAX = 10_000
/** How long this is believed if another node may have created one. */
const BELIEVED_MS = 1000

export class OwnersWithout {
  readonly #clock: Clock
  readonly #validMs: number
  /** By owner: until when it is believed, by the monotonic clock. */
  readonly #owners = new Map<string, number>()

  /** `shared`: other nodes use the store too. */
  constructor(clock: Clock, shared: boolean) {
    this.#clock = clock
    this.#validMs = shared ? BELIEVED_MS : Infinity
  }

  /** `recently`: another node may have created one since. */
  check(owner: string): 'without' | 'recently' | 'unknown' {
    const until = this.#owners.get(owner)
    if (until === undefined || until <= elapsedOf(this.#clock)) return 'unknown'
    return until === Infinity ? 'without' : 'recently'
  }

  add(owner: string): void {
    this.#owners.delete(owner)
    this.#owners.set(owner, elapsedOf(this.#clock) + this.#validMs)
    if (this.#owners.size > OWNERS_MAX) this.#owners.delete(this.#owners.keys().next().value!)
  }

  delete(owner: string): void {
    this.#owners.delete(owner)
  }
}
