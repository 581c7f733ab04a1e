/** Positions in a log as clients write them: `41`, or `run_…:41` with the run's id. */
import { HoldfastError } from './errors.ts'
import type { Run } from './run.ts'
import type { StoredRun } from '../ports/store.ts'

/** The position before the first event. */
export const START = -1

/** The index after which to continue. Throws `cursor_invalid` if the text is not a position in this run's log. */
export function parseCursor(text: string, run: string): number {
  const [, named, digits] = /^(?:([^:]+):)?(\d{1,15}|-1)$/.exec(text) ?? []
  if (digits === undefined) {
    throw new HoldfastError(
      'cursor_invalid',
      `${JSON.stringify(text.slice(0, 100))} is not a cursor: use the id of the last event that you have`,
    )
  }
  if (named !== undefined && named !== run)
    throw new HoldfastError('cursor_invalid', `the cursor belongs to run ${named.slice(0, 100)}, not to ${run}`)
  return Number(digits)
}

/** Throws unless a position can be read. Every store and the service use it: a cursor is served exactly, or refused (SUB-2). */
export function assertReadable(
  { run, first, next }: Pick<StoredRun, 'first' | 'next'> & { readonly run: Pick<Run, 'id'> },
  after: number,
): void {
  if (!Number.isInteger(after) || after < START || after >= next) {
    throw new HoldfastError(
      'cursor_invalid',
      `run ${run.id} has events 0 to ${next - 1}: the cursor ${after} is beyond its end`,
    )
  }
  if (after + 1 < first) {
    throw new HoldfastError('cursor_expired', `run ${run.id}: events before ${first} were trimmed`, {
      details: { earliest: first },
    })
  }
}
