/** Encodes an event that a request caused. A failure is an error of the request, not of the run. */
import { encodeEvent } from './emission.ts'
import { RunFailure } from './run-failure.ts'
import { HoldfastError } from '../model/errors.ts'
import { eventOf } from '../model/record.ts'
import { RedactionFailure } from '../redaction/failure.ts'
import type { Redactor } from '../redaction/redactor.ts'
import type { Event } from '../model/event.ts'
import type { Limits } from '../model/limits.ts'
import type { RecordBody } from '../model/record.ts'

export function encodeRequested(event: Event, limits: Limits): RecordBody {
  try {
    return encodeEvent(event, { maxDepth: limits.maxEventDepth, maxBytes: limits.maxEventBytes }).body
  } catch (cause) {
    if (cause instanceof RunFailure) throw new HoldfastError('invalid_request', cause.message, { cause })
    throw cause
  }
}

/** The event that a request caused, as it is stored. */
export function redactRequested<Requested extends Event>(
  event: Requested,
  redactor: Redactor | undefined,
  limits: Limits,
): Requested {
  const body = encodeRequested(event, limits)
  if (redactor === undefined) return event
  try {
    return redactor.event(eventOf(body)) as Requested
  } catch (cause) {
    if (cause instanceof RedactionFailure) throw new HoldfastError('internal', cause.message, { cause })
    throw cause
  }
}
