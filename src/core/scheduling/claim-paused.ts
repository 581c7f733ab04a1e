/** Claims a paused run in order to answer it. */
import { HoldfastError, runNotFound } from '../model/errors.ts'
import type { NodeDeps } from '../node-deps.ts'
import type { Run } from '../model/run.ts'
import type { StoredRun } from '../ports/store.ts'
import { startTimer } from '../runtime/timer.ts'

const LOOK_MS = 100

export interface PausedClaim {
  readonly id: string
  readonly worker: string
  readonly mayTakeOver: () => boolean
  /** Throws if the run no longer waits for this answer. */
  readonly check: (run: Run) => void
}

/**
 * Answering a paused run claims it briefly. If the claimant dies, this waits for its lease to expire and then answers. The wait is
 * bounded by two leases: after losing the store, a node takes nothing over for one lease.
 */
export async function claimPaused(deps: NodeDeps, { id, worker, mayTakeOver, check }: PausedClaim): Promise<StoredRun> {
  const { store, clock, limits } = deps
  for (let left = Math.ceil((2 * limits.leaseMs) / LOOK_MS); ; left--) {
    const claimed = await store.claim(id, worker, limits.leaseMs, { paused: true, takeover: mayTakeOver() })
    if (claimed !== undefined) return claimed
    const stored = await store.get(id)
    if (stored === undefined) throw runNotFound(id)
    check(stored.run)
    if (left <= 0)
      throw new HoldfastError('unavailable', `run ${id} is being answered by another request: try again`, {
        retryAfterMs: 1000,
      })
    await new Promise<void>((resolve) => startTimer(resolve, LOOK_MS, clock))
  }
}
