/** Admission control: caps the run queue globally and per owner. */
import { HoldfastError } from '../model/errors.ts'
import type { NodeDeps } from '../node-deps.ts'

/** How soon to retry when the queue is full. */
const RETRY_MS = 5000

export class Admission {
  readonly #deps: NodeDeps
  /** Starts of this node that are about to be queued, by owner. */
  readonly #entering = new Map<string, number>()
  #enteringAll = 0

  constructor(deps: NodeDeps) {
    this.#deps = deps
  }

  /**
   * Reserves a queue position for a run that is about to be created. Call the returned function once that is done. Throws
   * `rate_limited` if the queue is full, or if the owner has as many queued runs as the queue has free positions. One owner can
   * therefore fill at most half of the queue, two owners a third each, and a new owner always finds a position.
   */
  async enter(owner: string): Promise<() => void> {
    const { store, limits } = this.#deps
    const [all, own] = await Promise.all([store.queued(), store.queued(owner)])
    const left = limits.maxQueuedRuns - all - this.#enteringAll
    if (left <= 0) throw refusal(`${all} runs are queued, which is the limit`)
    const ofOwner = own + (this.#entering.get(owner) ?? 0)
    if (ofOwner >= left)
      throw refusal(`${ofOwner} of your runs are queued; the rest of the queue is reserved for others`)
    this.#count(owner, 1)
    return () => this.#count(owner, -1)
  }

  #count(owner: string, change: number): void {
    const entering = (this.#entering.get(owner) ?? 0) + change
    if (entering > 0) this.#entering.set(owner, entering)
    else this.#entering.delete(owner)
    this.#enteringAll += change
  }
}

function refusal(why: string): HoldfastError {
  return new HoldfastError('rate_limited', `${why}; try again later`, { retryAfterMs: RETRY_MS })
}
