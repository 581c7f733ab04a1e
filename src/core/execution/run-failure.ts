/** A failure of a run that Holdfast decides on. */
import { type ErrorCode, errorTable } from '../model/errors.ts'
import type { Failure } from '../model/event.ts'

export class RunFailure extends Error {
  override readonly name = 'RunFailure'
  readonly failure: Failure

  constructor(code: ErrorCode, message: string, details?: unknown) {
    super(message)
    const { retryable } = errorTable[code]
    this.failure = { code, message, ...(retryable && { retryable }), ...(details !== undefined && { details }) }
  }
}
