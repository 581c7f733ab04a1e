/** Admission control: caps the run queue globally and per owner. */
import { HoldfastError } from '../model/errors.ts'
import type { NodeDeps } from '../ports/node-deps.ts'

/** How soon to retry when the queue is full. */
const RETRY_MS = 5000

export class Admission {
  readonly #deps: NodeDeps
  /** Starts that are about to be queued from here, by owner. */
  readonly #entering = new Map<string, number>()
  #enteringAll = 0

  constructor(deps: NodeDeps) {
    this.#deps = deps
  }

  /**
   * Reserves a queue position for a run that is about to be created; call what it returns when that is done. Throws `rate_limited` when the
   * queue is full, and when the owner has as many runs in it as positions are left: so one owner alone gets half of the queue, two
   * get a third each, and an owner's first run finds room.
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
