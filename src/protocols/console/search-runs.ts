/** Searches runs by component, session or id. Stores have no text search, so it scans a bounded part of the list. */
import { setImmediate as others } from 'node:timers/promises'
import type { ListRequest } from '../../core/service.ts'
import type { StoredRunPage, StoredRun } from '../../core/ports/store.ts'

/** Runs scanned per page; the cursor continues from there. */
const LOOKED_AT_MAX = 5000
const PAGE_RUNS = 200

export interface SearchPage extends StoredRunPage {
  readonly searched: SearchCoverage
}

/** The range that a search covered. */
export interface SearchCoverage {
  readonly runs: number
  /** Creation time of the oldest scanned run, if any. */
  readonly backTo?: string
}

/** May return more than the limit, because all matches of the last batch are included. */
export async function searchRuns(
  list: (request: ListRequest) => Promise<StoredRunPage>,
  { limit = PAGE_RUNS, ...request }: ListRequest,
  text: string,
): Promise<SearchPage> {
  const wanted = text.toLowerCase()
  const found: StoredRun[] = []
  let searched: SearchCoverage = { runs: 0 }
  let after = request.after
  for (;;) {
    const page = await list({
      ...request,
      limit: PAGE_RUNS,
      ...(after !== undefined && { after }),
    })
    const last = page.runs.at(-1)?.run.createdAt
    searched = { ...searched, runs: searched.runs + page.runs.length, ...(last !== undefined && { backTo: last }) }
    after = page.cursor
    found.push(...page.runs.filter((stored) => fits(stored, wanted)))
    if (after === undefined) return { runs: found, searched }
    if (found.length >= limit || searched.runs >= LOOKED_AT_MAX) return { runs: found, cursor: after, searched }
    await others() // in-process stores read without yielding
  }
}

function fits({ run: { id, component, session } }: StoredRun, wanted: string): boolean {
  return [id, component, session].some((each) => each.toLowerCase().includes(wanted))
}
