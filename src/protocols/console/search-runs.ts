/** Runs whose component, session or id has a text in it. The store knows no such question, so a bounded part of the list is looked through. */
import type { ListRequest } from '../../core/service.ts'
import type { RunPage, StoredRun } from '../../core/store.ts'

/** Looked through for one page of what fits; its cursor leads on from there. */
const LOOKED_AT_MAX = 5000
const PAGE_RUNS = 200

/** May give more than the limit: what fits of the last part that was looked at is given whole. */
export async function searchRuns(
  list: (request: ListRequest) => Promise<RunPage>,
  { limit = PAGE_RUNS, ...request }: ListRequest,
  text: string,
): Promise<RunPage> {
  const wanted = text.toLowerCase()
  const found: StoredRun[] = []
  let after = request.after
  for (let lookedAt = 0; ;) {
    const page = await list({
      ...request,
      limit: PAGE_RUNS,
      ...(after !== undefined && { after }),
    })
    lookedAt += page.runs.length
    after = page.cursor
    found.push(...page.runs.filter((stored) => fits(stored, wanted)))
    if (after === undefined) return { runs: found }
    if (found.length >= limit || lookedAt >= LOOKED_AT_MAX) return { runs: found, cursor: after }
  }
}

function fits({ run: { id, component, session } }: StoredRun, wanted: string): boolean {
  return [id, component, session].some((each) => each.toLowerCase().includes(wanted))
}
