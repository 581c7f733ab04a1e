/** Turns anything that was thrown into the failure of a run. */
import { WorkError } from '../ports/component.ts'
import { RunFailure } from './run-failure.ts'
import { messageOf } from '../model/errors.ts'
import type { Failure } from '../model/event.ts'
import type { Logger } from '../ports/logger.ts'

export interface FailureContext {
  readonly run: string
  readonly component: string
  /** Id of the entry in the server log that has the details. */
  readonly errorId: string
  /** Absent if the outcome was already decided: the failure is then not logged. */
  readonly logger: Logger | undefined
}

export function toRunFailure(thrown: unknown, { run, component, errorId, logger }: FailureContext): Failure {
  const own = thrown instanceof RunFailure || thrown instanceof WorkError
  const failure: Failure = own ? thrown.failure : { code: 'agent_failed', message: messageOf(thrown) }
  const { code, details } = failure
  const fields = { run, component, errorId, code, details }
  try {
    logger?.error({ ...fields, ...(thrown instanceof Error && { err: thrown }) }, `run failed: ${failure.message}`)
  } catch {
    logger?.error(fields, `run failed: ${failure.message}`) // a property of the error cannot be read
  }
  // Details that are not an object belong to the agent; the id cannot be added to them.
  if (details !== undefined && (typeof details !== 'object' || details === null || Array.isArray(details)))
    return failure
  const type = thrown instanceof Error ? thrown.name : typeof thrown
  return { ...failure, details: { ...details, ...(!own && { type }), id: errorId } }
}
