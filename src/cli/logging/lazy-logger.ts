/** A logger that loads pino on the first message, to keep startup fast. */
import type { Logger } from '../../core/ports/logger.ts'
import { type LogLevel, logLevels } from '../../server/config/config-options.ts'

/** Messages buffered while pino loads, which takes milliseconds. */
const WAITING_MAX = 1000

export function lazyLogger(level: LogLevel): Logger {
  const enabled = logLevels.slice(logLevels.indexOf(level))
  const waiting: (() => void)[] = []
  let logger: Logger | undefined
  let loading: Promise<void> | undefined
  const load = async (): Promise<void> => {
    logger = await openPino(level)
    for (const tell of waiting.splice(0)) tell()
  }
  const say = (at: keyof Logger, fields: object, message: string): void => {
    if (logger !== undefined) return logger[at](fields, message)
    if (!enabled.includes(at)) return
    if (waiting.length < WAITING_MAX) waiting.push(() => logger![at](fields, message))
    loading ??= load()
  }
  return {
    debug: (fields, message) => say('debug', fields, message),
    info: (fields, message) => say('info', fields, message),
    warn: (fields, message) => say('warn', fields, message),
    error: (fields, message) => say('error', fields, message),
  }
}

async function openPino(level: LogLevel): Promise<Logger> {
  const { pino, destination } = await import('pino')
  const logger: Logger = pino(
    { level, base: null, timestamp: () => `,"time":"${new Date().toISOString()}"` },
    destination({ dest: 2, sync: false }),
  )
  return logger
}
