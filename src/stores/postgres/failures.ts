/** What a failed statement says about what it did. */
import { HoldfastError, detailOf, storeUnavailable } from '../../core/model/errors.ts'

/**
 * `undone`: it was rolled back and the same may succeed now. `unknown`: the connection broke, or the server is not itself; it may
 * have been done. `refused`: it was rolled back and would be again.
 */
export type FailureKind = 'undone' | 'unknown' | 'refused'

/** Serialization failure, deadlock, lock timeout: by the server's own word nothing was done. */
const UNDONE = ['40001', '40P01', '55P03']
/** Classes of SQLSTATE for a server that is broken, full, shutting down, starting, or became a read-only replica. */
const UNFIT = ['08', '53', '57', '58', 'F0', 'XX']
const READ_ONLY = '25006'
/** Took longer than its bound, or somebody cancelled it. */
const CANCELED = '57014'

export function failureKind(cause: unknown): FailureKind {
  const code = sqlStateOf(cause)
  // Not an answer of the server, so something went wrong on the way to it or back.
  if (code === undefined) return 'unknown'
  if (UNDONE.includes(code)) return 'undone'
  return UNFIT.includes(code.slice(0, 2)) || code === READ_ONLY ? 'unknown' : 'refused'
}

/** What callers of the store are told of a failure that is not to be tried again. */
export function storeError(cause: unknown, retryAfterMs: number): HoldfastError {
  if (cause instanceof HoldfastError) return cause
  // Data that it has no place for: a zero character in a name, a name that is too long for an index.
  if (/^(22|54)/.test(sqlStateOf(cause) ?? ''))
    return new HoldfastError(
      'invalid_request',
      'PostgreSQL cannot keep this value: one of its texts or numbers does not fit',
      {
        cause,
        detail: detailOf(cause),
      },
    )
  return storeUnavailable(`the database does not do it: ${detailOf(cause)}`, { cause, retryAfterMs })
}

/** The server did not answer. */
export function isSilence(cause: unknown): boolean {
  return sqlStateOf(cause) === undefined
}

/** The server is itself and so is the connection; where it is not, another one may lead to a server that is. */
export function leavesConnection(cause: unknown): boolean {
  return failureKind(cause) !== 'unknown' || sqlStateOf(cause) === CANCELED
}

function sqlStateOf(cause: unknown): string | undefined {
  if (typeof cause !== 'object' || cause === null || !('severity' in cause) || !('code' in cause)) return undefined
  return typeof cause.code === 'string' ? cause.code : undefined
}
