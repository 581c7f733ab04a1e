/** Failures after which a message may be sent again without creating a second task. */
import { ApiError, type ClientError, ConnectionError } from '../client/errors.ts'
import { wasRejectedUnprocessed } from '../client/not-received.ts'

/** The connection was never established. */
export class NotReceivedError extends ConnectionError {}

/** The agent certainly did not act on the request. */
export function wasNotReceived(cause: ClientError): boolean {
  return cause instanceof NotReceivedError || (cause instanceof ApiError && wasRejectedUnprocessed(cause.status))
}
