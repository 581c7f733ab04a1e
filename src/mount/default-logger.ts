/** The default logger: prints warnings and errors to standard error, because an application must not fail silently. */
import { type Logger, silentLogger } from '../core/ports/logger.ts'

export const defaultLogger: Logger = { ...silentLogger, warn: print, error: print }

/** Skips the audit log: strangers could fill the terminal with it. */
function print(fields: { readonly audit?: unknown; readonly err?: unknown }, message: string): void {
  if (fields.audit !== undefined) return
  const cause = fields.err instanceof Error ? `\n${fields.err.stack ?? fields.err.message}` : ''
  process.stderr.write(`holdfast: ${message}${cause}\n`)
}
