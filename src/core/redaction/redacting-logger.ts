/** A logger that redacts messages and fields by patterns. */
import type { Logger } from '../ports/logger.ts'
import { serialize } from '../model/serialize.ts'
import type { Redactor } from './redactor.ts'

const BOUNDS = { maxDepth: 20, maxBytes: 1024 * 1024 }
const CAUSES_MAX = 5

export function redactingLogger(logger: Logger, redactor: Redactor): Logger {
  if (redactor.matcher.isEmpty) return logger
  const to =
    (level: keyof Logger) =>
    (fields: object, message: string): void => {
      try {
        const entries = Object.entries(fields).map(([name, value]) => [name, redactedValue(value, redactor)])
        logger[level](Object.fromEntries(entries) as object, redactor.text(message))
      } catch {
        logger[level]({}, 'a log line was left out: it could not be redacted')
      }
    }
  return { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') }
}

function redactedValue(value: unknown, redactor: Redactor): unknown {
  if (value === undefined) return undefined
  const plain = value instanceof Error ? plainError(value, CAUSES_MAX) : value
  return redactor.value(JSON.parse(serialize(plain, 'field', BOUNDS)))
}

/** Formats an error like pino. */
function plainError(error: Error, causes: number): object {
  const { name, message, stack, cause, code, detail, internalMessage } = error as Error & {
    code?: unknown
    detail?: unknown
    internalMessage?: unknown
  }
  return {
    type: name,
    message,
    stack,
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    ...(typeof detail === 'string' && { detail }),
    ...(typeof internalMessage === 'string' && { internalMessage }),
    ...(cause instanceof Error && causes > 0 && { cause: plainError(cause, causes - 1) }),
  }
}
