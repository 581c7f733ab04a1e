/** Requests of one connection: those of a lane are served one after the other, lanes at the same time. */
import { HoldfastError } from '../../../core/model/errors.ts'

/** Lanes with requests at once, and requests of one that wait. */
const LANES_MAX = 32
const WAITING_MAX = 16

export class Lanes {
  readonly #waiting = new Map<string | undefined, (() => Promise<void>)[]>()

  /** `turn` must not throw. */
  add(lane: string | undefined, turn: () => Promise<void>): void {
    const waiting = this.#waiting.get(lane)
    if (waiting === undefined) {
      if (this.#waiting.size >= LANES_MAX)
        throw new HoldfastError(
          'rate_limited',
          `this connection already has responses on ${LANES_MAX} streams, the maximum`,
        )
      this.#waiting.set(lane, [turn])
      void this.#work(lane)
      return
    }
    if (waiting.length > WAITING_MAX)
      throw new HoldfastError('rate_limited', `${WAITING_MAX} requests already wait on this stream, the maximum`)
    waiting.push(turn)
  }

  clear(): void {
    for (const waiting of this.#waiting.values()) waiting.length = 0
  }

  async #work(lane: string | undefined): Promise<void> {
    const waiting = this.#waiting.get(lane)!
    while (waiting.length > 0) {
      await waiting[0]!()
      waiting.shift()
    }
    this.#waiting.delete(lane)
  }
}
