/** A failure that Holdfast, not the agent, decides on. */
import { acrossCopies } from '../model/across-copies.ts'
import { type ErrorCode, errorTable } from '../model/errors.ts'
import type { Failure } from '../model/event.ts'

export class RunFailure extends Error {
  static {
    acrossCopies(this, 'RunFailure')
  }

  override readonly name = 'RunFailure'
  readonly failure: Failure

  constructor(code: ErrorCode, message: string, details?: unknown, options?: ErrorOptions) {
    super(message, options)
    const { retryable } = errorTable[code]
    this.failure = { code, message, ...(retryable && { retryable }), ...(details !== undefined && { details }) }
  }
}
