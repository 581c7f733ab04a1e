/** Failures of recorded work: what is logged about an error, and the equal error thrown in every attempt. */
import { RejectedError, WorkError } from '../ports/component.ts'
import { RunFailure } from '../execution/run-failure.ts'
import { messageOf, readable } from '../model/errors.ts'
import type { Failure } from '../model/event.ts'
import { serialize } from '../model/serialize.ts'
import type { WorkOutcome } from './recorded-work.ts'

/** The recorded result of work that ended; throws its recorded failure. */
export function replayOutcome(outcome: WorkOutcome): unknown {
  if (outcome.state === 'failed') throw toThrow(outcome.failure)
  return outcome.state === 'done' ? outcome.result : undefined
}

export function failureOf(caught: unknown): Failure {
  const thrown = readable(caught)
  if (thrown instanceof WorkError || thrown instanceof RunFailure) return thrown.failure
  const code = thrown instanceof RejectedError ? 'rejected' : 'agent_failed'
  const message = messageOf(thrown)
  return thrown instanceof Error ? { code, message, details: detailsOf(thrown) } : { code, message }
}

/** The error for code that executes the work now: the same as in a replay, except for its cause. */
export function toThrow(failure: Failure, cause?: unknown): Error {
  if (cause instanceof RejectedError) return cause
  // If something was redacted, the logged failure differs.
  const isTold = cause instanceof WorkError || cause instanceof RunFailure
  if (isTold && cause.failure === failure) return cause
  const { code, message, details } = failure
  if (code === 'rejected' && (details as { type?: unknown } | undefined)?.type === REJECTED)
    return new RejectedError(message)
  return new WorkError(failure, cause === undefined ? undefined : { cause })
}

const REJECTED = 'RejectedError'

/** Fields by which programs distinguish errors. */
function detailsOf(error: Error): object {
  const { name } = error
  const code = read(error, 'code')
  const data = plainData(read(error, 'data'))
  return {
    type: name,
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    ...(data !== undefined && { data }),
  }
}

function read(error: Error, property: string): unknown {
  try {
    return (error as unknown as Record<string, unknown>)[property]
  } catch {
    return undefined
  }
}

/** Data that cannot be serialized, or is too large, must not hide the failure. */
function plainData(data: unknown): unknown {
  try {
    return data === undefined ? undefined : (JSON.parse(serialize(data, 'data', DATA_BOUNDS)) as unknown)
  } catch {
    return undefined
  }
}

const DATA_BOUNDS = { maxDepth: 50, maxBytes: 64 * 1024 }
