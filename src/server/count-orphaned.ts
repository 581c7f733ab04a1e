/** Counts the runs that were left behind: under way, and driven by nobody. */
import type { Store } from '../core/ports/store.ts'
import type { OrphanedRuns } from '../protocols/console/server-facts.ts'

/** Of the runs that can be taken so many are looked at; those whose worker died come first. */
const LOOKED_AT_MAX = 100

/** Asks the store, whose clock says whose lease has ended. They are taken up within a lease's time, so there are seldom any. */
export async function countOrphaned(store: Store): Promise<OrphanedRuns> {
  const ids = await store.claimable(LOOKED_AT_MAX)
  const found = await Promise.all(ids.map((id) => store.get(id)))
  const count = found.filter((stored) => stored?.run.status === 'running').length
  return { count, more: count > 0 && count === LOOKED_AT_MAX }
}
