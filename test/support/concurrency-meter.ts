/** Measures concurrency without assumptions about startup times. */
import { settle } from './manual-clock.ts'

export class Crowd {
  /** Maximum concurrency observed. */
  most = 0
  readonly #expected: number
  readonly #gate = Promise.withResolvers<void>()
  #present = 0

  constructor(expected: number) {
    this.#expected = expected
  }

  /** Resolves once the expected number has joined and unexpected ones had time to. */
  async join(): Promise<void> {
    this.most = Math.max(this.most, ++this.#present)
    if (this.#present === this.#expected) void settle().then(this.#gate.resolve)
    await this.#gate.promise
    this.#present--
  }
}
