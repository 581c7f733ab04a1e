/** The server's redaction, loaded only if it is enabled. */
import type { Logger } from '../core/ports/logger.ts'
import type { RedactOptions } from '../core/redaction/redaction.ts'
import type { Redactor } from '../core/redaction/redactor.ts'

export interface ServerRedaction {
  readonly redactor?: Redactor
  readonly logger: Logger
}

export async function openRedaction(options: RedactOptions | undefined, logger: Logger): Promise<ServerRedaction> {
  if (options === undefined) return { logger }
  const { Redactor } = await import('../core/redaction/redactor.ts')
  const { redactingLogger } = await import('../core/redaction/redacting-logger.ts')
  const { toRules } = await import('../core/redaction/redaction.ts')
  const redactor = new Redactor(toRules(options))
  return { redactor, logger: redactingLogger(logger, redactor) }
}
