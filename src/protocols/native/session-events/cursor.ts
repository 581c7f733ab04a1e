/**
 * A position in all runs of a session, as one text. Lists the runs that have started and not ended, each with its last delivered
 * event, and those that ended recently. All runs created before `since` and not listed were delivered.
 */
import { HoldfastError } from '../../../core/model/errors.ts'

export interface SessionCursor {
  /** Milliseconds since 1970. */
  readonly since: number
  /** Index of the last delivered event, or `end` if no more will come. */
  readonly runs: ReadonlyMap<string, number | 'end'>
}

/** The position before the first run. */
export const beginning: SessionCursor = { since: 0, runs: new Map() }

/** Maximum runs in one cursor, so that it fits into a header. */
export const CURSOR_RUNS_MAX = 200

const CURSOR_CHARS_MAX = 15_000

export function encodeCursor({ since, runs }: SessionCursor): string {
  const listed = Array.from(runs, ([run, at]) => `${encodeURIComponent(run)}:${at === 'end' ? 'e' : at}`)
  return [since.toString(36), ...listed].join(',')
}

/** Throws `cursor_invalid`. */
export function decodeCursor(text: string): SessionCursor {
  const [since = '', ...listed] = text.split(',')
  const isCursor =
    text.length <= CURSOR_CHARS_MAX &&
    listed.length <= CURSOR_RUNS_MAX &&
    /^[0-9a-z]{1,10}$/.test(since) &&
    listed.every((entry) => /^[\w.!~*'()%-]{1,300}:(?:e|\d{1,15})$/.test(entry))
  if (!isCursor)
    throw new HoldfastError(
      'cursor_invalid',
      `${JSON.stringify(text.slice(0, 100))} is not a cursor of a session: use the id of the last event that you have`,
    )
  const runs = listed.map((entry) => {
    const [run = '', at = ''] = entry.split(':')
    return [decoded(run), at === 'e' ? 'end' : Number(at)] as const
  })
  return { since: Number.parseInt(since, 36), runs: new Map(runs) }
}

function decoded(run: string): string {
  try {
    return decodeURIComponent(run)
  } catch {
    throw new HoldfastError('cursor_invalid', `invalid run id in the cursor: ${run.slice(0, 100)}`)
  }
}
