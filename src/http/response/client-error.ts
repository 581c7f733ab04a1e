/** Converts anything thrown by a handler into the error that the client gets. */
import { HoldfastError, isHoldfastError } from '../../core/model/errors.ts'

/** A `HoldfastError` unchanged; for anything else only an id, which finds the cause in the server log. */
export function toClientError(cause: unknown, errorId: string): HoldfastError {
  return isHoldfastError(cause) ? cause : new HoldfastError('internal', `internal error ${errorId}`, { cause })
}
