/** Without a logger, warnings and errors go to the console: an application must not fail silently. */
import { type Logger, silentLogger } from '../core/ports/logger.ts'

export const defaultLogger: Logger = {
  ...silentLogger,
  // The audit log is for those who ask for it: strangers could fill the console with it.
  warn: (fields, message) => void ('audit' in fields || console.warn(`holdfast: ${message}`)),
  error: (fields, message) => console.error(`holdfast: ${message}`, 'err' in fields ? fields.err : ''),
}
