/** Encodes an event that a request made: where that cannot be, it is the request that is wrong and not the run. */
import { encodeEvent, RunFailure } from './emission.ts'
import { HoldfastError } from './errors.ts'
import type { Event } from './event.ts'
import type { Limits } from './limits.ts'
import type { RecordBody } from './record.ts'

export function encodeRequested(event: Event, limits: Limits): RecordBody {
  try {
    return encodeEvent(event, { depthMax: limits.eventDepthMax, bytesMax: limits.eventBytesMax }).body
  } catch (cause) {
    if (cause instanceof RunFailure) throw new HoldfastError('invalid_request', cause.message, { cause })
    throw cause
  }
}
