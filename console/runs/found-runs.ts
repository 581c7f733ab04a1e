/** The runs of one page: of a list as it is, of a search as far as it has gone. Nothing of it changes. */
import type { RunRow, RunRows } from '../api.ts'

export interface FoundRuns {
  readonly rows: readonly RunRow[]
  /** Where the next page begins. */
  readonly cursor?: string | undefined
  /** Of a search: runs that were looked at, and when the oldest of them was created. */
  readonly searched?: { readonly runs: number; readonly backTo?: string | undefined } | undefined
  /** What the newest part of a search covered; the rest of it was looked at once. */
  readonly head?: RunRows | undefined
}

/** A search goes on by itself until it has found as many runs as a page has. */
const ENOUGH_ROWS = 50
/** And looks at no more than so many runs before somebody asks it to. */
const LOOKED_AT_MAX = 250_000

export function firstPage(head: RunRows): FoundRuns {
  return { rows: head.runs, cursor: head.cursor, searched: head.searched, head }
}

/** The newest part was looked at again; what was found further back stays. */
export function withHead(before: FoundRuns, head: RunRows): FoundRuns {
  const { searched, head: oldHead, rows } = before
  const backTo = head.searched?.backTo
  if (searched === undefined || oldHead?.searched === undefined || backTo === undefined) return firstPage(head)
  if (searched.runs === oldHead.searched.runs) return firstPage(head) // it had not gone further
  const older = rows.filter(({ createdAt }) => createdAt <= backTo)
  return { ...before, head, rows: unique([...head.runs, ...older]) }
}

export function withMore(before: FoundRuns, { runs, cursor, searched }: RunRows): FoundRuns {
  const looked = (before.searched?.runs ?? 0) + (searched?.runs ?? 0)
  return {
    ...before,
    rows: unique([...before.rows, ...runs]),
    cursor,
    searched: { runs: looked, backTo: searched?.backTo ?? before.searched?.backTo },
  }
}

export function goesOn({ rows, cursor, searched }: FoundRuns): boolean {
  return cursor !== undefined && searched !== undefined && rows.length < ENOUGH_ROWS && searched.runs < LOOKED_AT_MAX
}

function unique(rows: readonly RunRow[]): readonly RunRow[] {
  return [...new Map(rows.map((row) => [row.id, row])).values()]
}
