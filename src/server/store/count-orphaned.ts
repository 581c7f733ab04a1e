/** Counts orphaned runs: unfinished runs that no node executes. */
import type { Store } from '../../core/ports/store.ts'
import type { OrphanedRuns } from '../../protocols/console/server-info.ts'

/** Maximum claimable runs to inspect; runs of dead workers come first. */
const INSPECTED_MAX = 100

/** Lease expiry is judged by the store's clock. Usually zero: orphaned runs are claimed within one lease period. */
export async function countOrphaned(store: Store): Promise<OrphanedRuns> {
  const ids = await store.claimable(INSPECTED_MAX)
  const found = await Promise.all(ids.map((id) => store.get(id)))
  const count = found.filter((stored) => stored?.run.status === 'running').length
  return { count, more: count > 0 && count === INSPECTED_MAX }
}
