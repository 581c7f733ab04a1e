/** Requests of one connection: those with the same `stream_id` are served sequentially, others concurrently. */
import { HoldfastError } from '../../../core/model/errors.ts'

/** Maximum concurrent streams, and maximum waiting requests per stream. */
const STREAMS_MAX = 32
const WAITING_MAX = 16

export class ResponseQueues {
  readonly #waiting = new Map<string | undefined, (() => Promise<void>)[]>()

  /** `job` must not throw. */
  add(streamId: string | undefined, job: () => Promise<void>): void {
    const waiting = this.#waiting.get(streamId)
    if (waiting === undefined) {
      if (this.#waiting.size >= STREAMS_MAX)
        throw new HoldfastError(
          'rate_limited',
          `this connection already has responses on ${STREAMS_MAX} streams, the maximum`,
        )
      this.#waiting.set(streamId, [job])
      void this.#work(streamId)
      return
    }
    if (waiting.length > WAITING_MAX)
      throw new HoldfastError('rate_limited', `${WAITING_MAX} requests already wait on this stream, the maximum`)
    waiting.push(job)
  }

  clear(): void {
    for (const waiting of this.#waiting.values()) waiting.length = 0
  }

  async #work(streamId: string | undefined): Promise<void> {
    const waiting = this.#waiting.get(streamId)!
    while (waiting.length > 0) {
      await waiting[0]!()
      waiting.shift()
    }
    this.#waiting.delete(streamId)
  }
}
