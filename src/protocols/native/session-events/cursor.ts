/**
 * A position in all runs of a session, as one text. It lists the runs that have begun and not ended, with the last event of each, and
 * those that ended lately. All runs created before `since` that it does not list were delivered.
 */
import { HoldfastError } from '../../../core/model/errors.ts'

export interface SessionCursor {
  /** Milliseconds since 1970. */
  readonly since: number
  /** The last event delivered, or `end` if there is no more to come. */
  readonly runs: ReadonlyMap<string, number | 'end'>
}

/** Before the first run. */
export const beginning: SessionCursor = { since: 0, runs: new Map() }

/** Runs that one cursor can list. A header holds that many. */
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
