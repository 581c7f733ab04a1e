/** Logs a failed request. Server faults are logged in full, because the client gets no details. */
import { detailOf, type HoldfastError } from '../../core/model/errors.ts'
import type { Logger } from '../../core/ports/logger.ts'

export function logFailure(logger: Logger, error: HoldfastError, about: object): void {
  const fields = { ...about, code: error.code }
  if (error.status >= 500) logger.error({ ...fields, err: error.cause ?? error }, detailOf(error))
  else logger.debug(fields, error.message)
}
