/** The runs of one page: of a list, or of a search so far. Immutable. */
import type { RunRow, RunRows } from '../api.ts'

export interface FoundRuns {
  readonly rows: readonly RunRow[]
  /** Cursor of the next page. */
  readonly cursor?: string | undefined
  /** For a search: runs examined, and the creation time of the oldest. */
  readonly searched?: { readonly runs: number; readonly backTo?: string | undefined } | undefined
  /** The newest part of a search, which is refreshed; the rest is searched once. */
  readonly head?: RunRows | undefined
}

/** A search continues by itself until it has found a page of runs. */
const ENOUGH_ROWS = 50
/** Maximum runs that it examines before the user asks for more. */
const LOOKED_AT_MAX = 250_000

export function firstPage(head: RunRows): FoundRuns {
  return { rows: head.runs, cursor: head.cursor, searched: head.searched, head }
}

/** Replaces the refreshed newest part; older results stay. */
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
