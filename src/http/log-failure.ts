/** What of a failed request goes to the log: all about a fault of the server, which its client is not told. */
import { detailOf, type HoldfastError } from '../core/model/errors.ts'
import type { Logger } from '../core/ports/logger.ts'

export function logFailure(logger: Logger, error: HoldfastError, about: object): void {
  const fields = { ...about, code: error.code }
  if (error.status >= 500) logger.error({ ...fields, err: error.cause ?? error }, detailOf(error))
  else logger.debug(fields, error.message)
}
