/** Runs whose component, session or id has a text in it. The store knows no such question, so a bounded part of the list is looked through. */
import { setImmediate as others } from 'node:timers/promises'
import type { ListRequest } from '../../core/service.ts'
import type { RunPage, StoredRun } from '../../core/ports/store.ts'

/** Looked through for one page of what fits; its cursor leads on from there. */
const LOOKED_AT_MAX = 5000
const PAGE_RUNS = 200

export interface SearchPage extends RunPage {
  readonly searched: SearchCoverage
}

/** What a search covered, from where it began. */
export interface SearchCoverage {
  readonly runs: number
  /** When the oldest of them was created; absent where there was none. */
  readonly backTo?: string
}

/** May give more than the limit: what fits of the last part that was looked at is given whole. */
export async function searchRuns(
  list: (request: ListRequest) => Promise<RunPage>,
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
    await others() // a store in this process reads without a pause
  }
}

function fits({ run: { id, component, session } }: StoredRun, wanted: string): boolean {
  return [id, component, session].some((each) => each.toLowerCase().includes(wanted))
}
