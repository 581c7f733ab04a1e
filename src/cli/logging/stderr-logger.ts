/** Prints a store's warnings to standard error, for commands that open a store themselves. */
import { type Logger, silentLogger } from '../../core/ports/logger.ts'
import type { CommandIo } from '../io.ts'

export function stderrLogger(io: CommandIo): Logger {
  const write = (_fields: object, message: string): void => void io.stderr.write(`${message}\n`)
  return { ...silentLogger, warn: write, error: write }
}
