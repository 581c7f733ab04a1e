/** Error for a PostgreSQL store that cannot be opened: which store, option and host, why, and what to do. */
import { HoldfastError, detailOf } from '../../core/model/errors.ts'
import { connectionConfig, type Pg } from './database.ts'
import { isSilence } from './failures.ts'

const ADVICE: readonly (readonly [reason: RegExp, advice: string])[] = [
  [/ECONNREFUSED/, 'is the server running, and is the port right?'],
  [/ENOTFOUND|EAI_AGAIN/, 'is the host name right?'],
  [/password|authentication|no pg_hba\.conf entry/i, 'check user and password in the address'],
  [/database .* does not exist/, 'create it, or name another one in the address'],
  [/timeout/i, 'is the server reachable, or does a firewall block it?'],
]

export function openingError(pg: Pg, url: string, cause: unknown): unknown {
  // Holdfast's own errors about a server that it reached need no addition.
  if (isSilence(cause) && !isConnectionFailure(cause)) return cause
  const reason = reasonOf(cause)
  const advice = ADVICE.find(([known]) => known.test(reason))?.[1]
  const next = advice === undefined ? '' : `; ${advice}`
  const message = `the PostgreSQL store at ${serverOf(pg, url)} (--store) cannot be opened: ${reason}${next}`
  return new HoldfastError('unavailable', message, { cause })
}

/** System errors have a code; connection errors of `pg` are recognized by their message. */
function isConnectionFailure(cause: unknown): boolean {
  if (cause instanceof AggregateError) return true
  return cause instanceof Error && ('code' in cause || /connection|timeout/i.test(cause.message))
}

/** A host with several addresses fails with an AggregateError. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof AggregateError)) return detailOf(cause)
  return cause.errors.map((error) => detailOf(error)).join('; ')
}

/** The address as `pg` resolves it, including environment variables, without the password. */
function serverOf(pg: Pg, url: string): string {
  const { host, port, database } = new pg.default.Client(connectionConfig(url))
  return `${host}:${port}/${database ?? ''}`
}
