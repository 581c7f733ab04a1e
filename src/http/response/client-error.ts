/** What clients are told of anything that was thrown while their request was handled. */
import { HoldfastError, isHoldfastError } from '../../core/model/errors.ts'

/** Our own errors as they are; of others only an id, under which the server log has the cause. */
export function toClientError(cause: unknown, errorId: string): HoldfastError {
  return isHoldfastError(cause) ? cause : new HoldfastError('internal', `internal error ${errorId}`, { cause })
}
