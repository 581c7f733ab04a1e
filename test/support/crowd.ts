/** Counts how many work at once, without a guess at how long the others take to start. */
import { settle } from './manual-clock.ts'

export class Crowd {
  /** The most that were at work at the same time. */
  most = 0
  readonly #expected: number
  readonly #gate = Promise.withResolvers<void>()
  #present = 0

  constructor(expected: number) {
    this.#expected = expected
  }

  /** Returns once as many as expected are here, and whoever else may start has had the time to. */
  async join(): Promise<void> {
    this.most = Math.max(this.most, ++this.#present)
    if (this.#present === this.#expected) void settle().then(this.#gate.resolve)
    await this.#gate.promise
    this.#present--
  }
}
