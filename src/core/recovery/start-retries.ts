/** Retries failed run starts with exponential backoff, and fails the run after a bound unless the store is unavailable. */
import { HoldfastError } from '../model/errors.ts'
import { wasInterrupted } from './crash-suspects.ts'
import type { GivenUpRuns } from './given-up-runs.ts'
import { loadExecution } from '../scheduling/load-execution.ts'
import type { NodeDeps } from '../node-deps.ts'
import type { StoredRun } from '../ports/store.ts'
import { startTimer } from '../runtime/timer.ts'

/** Bounds of the exponential backoff after a failed start. */
const REST_MS = 100
const REST_MAX_MS = 5000

export class StartRetries {
  readonly #deps: NodeDeps
  readonly #complain: (run: string, cause: unknown) => void
  /** Consecutive failed starts of each run on this node. */
  readonly #counts = new Map<string, number>()
  /** Claims in backoff, each with the function that cancels its timer. */
  readonly #resting = new Map<StoredRun, () => void>()
  /** Claims whose start may be in the log although the store did not acknowledge it. */
  readonly #unacknowledged = new Set<StoredRun>()
  readonly #givenUp: GivenUpRuns
  #over = false

  constructor(deps: NodeDeps, givenUp: GivenUpRuns, complain: (run: string, cause: unknown) => void) {
    this.#deps = deps
    this.#givenUp = givenUp
    this.#complain = complain
  }

  /** Resets the count of a run that was started. */
  forget(id: string): void {
    this.#counts.delete(id)
  }

  async add(claimed: StoredRun, cause: unknown): Promise<void> {
    const { id } = claimed.run
    const count = (this.#counts.get(id) ?? 0) + 1
    this.#counts.set(id, count)
    const isOurs = !(cause instanceof HoldfastError && (cause.code === 'unavailable' || cause.code === 'fenced'))
    if (isOurs && count >= this.#deps.limits.maxAttempts) {
      try {
        const { failUnstartable } = await loadExecution()
        await failUnstartable(this.#deps, claimed, count)
        this.#counts.delete(id)
        return
      } catch (failed) {
        this.#complain(id, failed)
      }
    }
    if (!isOurs && this.#deps.store.capabilities.shared && !wasInterrupted(claimed.run))
      this.#unacknowledged.add(claimed)
    if (this.#over) return this.giveBack(claimed)
    const delay = Math.min(REST_MS * 2 ** (count - 1), REST_MAX_MS)
    this.#resting.set(
      claimed,
      startTimer(() => void this.giveBack(claimed), delay, this.#deps.clock),
    )
  }

  async giveBack(claimed: StoredRun): Promise<void> {
    this.#resting.get(claimed)?.()
    this.#resting.delete(claimed)
    const { store, logger } = this.#deps
    const { run, epoch } = claimed
    // The start may be logged, so the release must be logged too: no process died.
    if (this.#unacknowledged.delete(claimed)) {
      this.#givenUp.add(run.id, epoch)
      return this.#givenUp.release()
    }
    // If this fails, the lease expires by itself.
    await store.release(run.id, epoch).catch((cause: unknown) => {
      logger.debug({ run: run.id, err: cause }, 'failed to release a lease')
    })
  }

  /** Releases all current and future claims in backoff at once. */
  async end(): Promise<void> {
    this.#over = true
    await Promise.all([...this.#resting.keys()].map((claimed) => this.giveBack(claimed)))
  }
}
