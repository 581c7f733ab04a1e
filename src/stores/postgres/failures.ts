/** Classifies failed statements: not sent, rolled back, unknown outcome, or refused. */
import { HoldfastError, detailOf, storeUnavailable } from '../../core/model/errors.ts'

/**
 * `unsent`: no connection was free. `undone`: rolled back, a retry may succeed. `unknown`: the connection broke or the server is
 * unhealthy, so it may have committed. `refused`: rolled back, and a retry would be too.
 */
export type FailureKind = 'unsent' | 'undone' | 'unknown' | 'refused'

/** This node has more statements than its connections can carry. It says nothing about the server. */
export class ConnectionsBusyError extends Error {}

/** Serialization failure, deadlock, lock timeout: the server guarantees that nothing was committed. */
const UNDONE = ['40001', '40P01', '55P03']
/** SQLSTATE classes of a server that is broken, full, shutting down, starting, or became a read-only replica. */
const UNFIT = ['08', '53', '57', '58', 'F0', 'XX']
const READ_ONLY = '25006'
/** Timed out or cancelled. */
const CANCELED = '57014'

export function failureKind(cause: unknown): FailureKind {
  if (cause instanceof ConnectionsBusyError) return 'unsent'
  const code = sqlStateOf(cause)
  // No SQLSTATE: not a reply of the server, but a failure of the connection.
  if (code === undefined) return 'unknown'
  if (UNDONE.includes(code)) return 'undone'
  return UNFIT.includes(code.slice(0, 2)) || code === READ_ONLY ? 'unknown' : 'refused'
}

/** The error that callers of the store get for a failure that is not retried. */
export function storeError(cause: unknown, retryAfterMs: number): HoldfastError {
  if (cause instanceof HoldfastError) return cause
  // Data that PostgreSQL cannot store: a zero character in a name, a name that is too long for an index.
  if (/^(22|54)/.test(sqlStateOf(cause) ?? ''))
    return new HoldfastError(
      'invalid_request',
      'PostgreSQL cannot store this value: a string or number in it does not fit',
      {
        cause,
        internalMessage: detailOf(cause),
      },
    )
  return storeUnavailable(`the database failed: ${detailOf(cause)}`, { cause, retryAfterMs })
}

/** Whether the server did not reply. */
export function isSilence(cause: unknown): boolean {
  return sqlStateOf(cause) === undefined
}

/** Whether the connection is healthy. If not, a new one may reach a healthy server. */
export function leavesConnection(cause: unknown): boolean {
  return failureKind(cause) !== 'unknown' || sqlStateOf(cause) === CANCELED
}

function sqlStateOf(cause: unknown): string | undefined {
  if (typeof cause !== 'object' || cause === null || !('severity' in cause) || !('code' in cause)) return undefined
  return typeof cause.code === 'string' ? cause.code : undefined
}
