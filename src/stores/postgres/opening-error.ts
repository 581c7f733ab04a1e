/** What somebody is told whose PostgreSQL store cannot be opened: which store, which option, which host, why, and what to do. */
import { HoldfastError, detailOf } from '../../core/model/errors.ts'
import { connectionConfig, type Pg } from './database.ts'
import { isSilence } from './failures.ts'

const ADVICE: readonly (readonly [reason: RegExp, advice: string])[] = [
  [/ECONNREFUSED/, 'is the server running, and is the port right?'],
  [/ENOTFOUND|EAI_AGAIN/, 'is the host name right?'],
  [/password|authentication|no pg_hba\.conf entry/i, 'check user and password in the address'],
  [/database .* does not exist/, 'create it, or name another one in the address'],
  [/timeout/i, 'is there a way to the server, and no firewall in between?'],
]

export function openingError(pg: Pg, url: string, cause: unknown): unknown {
  // What Holdfast itself says of a server that it reached is clear enough.
  if (isSilence(cause) && !isConnectionFailure(cause)) return cause
  const reason = reasonOf(cause)
  const advice = ADVICE.find(([known]) => known.test(reason))?.[1]
  const next = advice === undefined ? '' : `; ${advice}`
  const message = `the PostgreSQL store at ${serverOf(pg, url)} (--store) cannot be opened: ${reason}${next}`
  return new HoldfastError('unavailable', message, { cause })
}

/** Errors of the system have a code; those of the package about connections speak of them. */
function isConnectionFailure(cause: unknown): boolean {
  if (cause instanceof AggregateError) return true
  return cause instanceof Error && ('code' in cause || /connection|timeout/i.test(cause.message))
}

/** A host with several addresses fails with an error for each. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof AggregateError)) return detailOf(cause)
  return cause.errors.map((error) => detailOf(error)).join('; ')
}

/** As the package understands the address, the environment included; without a password. */
function serverOf(pg: Pg, url: string): string {
  const { host, port, database } = new pg.default.Client(connectionConfig(url))
  return `${host}:${port}/${database ?? ''}`
}
