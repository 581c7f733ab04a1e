/** Logs uncaught errors of an agent after its run has ended, or while it is paused. */
import { messageOf } from '../model/errors.ts'
import { type ExecutionTrace, originText, type UncaughtOrigin } from '../ports/execution-trace.ts'
import type { Logger } from '../ports/logger.ts'

interface UncaughtFields extends Pick<ExecutionTrace, 'run' | 'component'> {
  readonly origin: UncaughtOrigin
}

export function logUncaught(logger: Logger, level: 'debug' | 'error', fields: UncaughtFields, thrown: unknown): void {
  const message = `${originText[fields.origin]} in an agent whose run is not executing: ${messageOf(thrown)}`
  try {
    logger[level]({ ...fields, ...(thrown instanceof Error && { err: thrown }) }, message)
  } catch {
    logger[level](fields, message) // a property of the error cannot be read
  }
}

/** Whether the error only says that the work was aborted. It is not reported once the run has ended. */
export function isAbort(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === 'AbortError'
}
