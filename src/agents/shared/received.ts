/** Logs an upstream's event together with the events derived from it. */
import {
  createEvent,
  type Emission,
  type RunContext,
  emitTogether,
  type UpstreamInfo,
} from '../../core/ports/component.ts'
import type { Event } from '../../core/model/event.ts'
import { JsonText } from '../../core/model/json-text.ts'

/** Maximum size of an upstream event in the log. Of a larger one, only the derived events are logged. */
const RECEIVED_BYTES_MAX = 256 * 1024

/**
 * An upstream's event and those derived from it, appended together. Without an upstream, only the derived ones. `isSnapshot`: the event
 * repeats earlier output of its upstream.
 */
export function* withReceived(
  upstream: Pick<UpstreamInfo, 'protocol'> | undefined,
  name: string,
  data: unknown,
  derived: Iterable<Event>,
  { isSnapshot = false } = {},
): Generator<Emission> {
  if (upstream === undefined) return yield* isSnapshot ? asSnapshot(derived) : derived
  const { protocol } = upstream
  const received = createEvent('upstream.received', { protocol, name, ...(isLoggable(data) && { data }) })
  yield emitTogether([received, ...derived], { isSnapshot })
}

/** One batch, because its events may be logged in another order. */
function* asSnapshot(derived: Iterable<Event>): Generator<Emission> {
  const events = [...derived]
  if (events.length > 0) yield emitTogether(events, { isSnapshot: true })
}

export function isLoggable(data: unknown): boolean {
  // A character takes at most three bytes.
  if (data instanceof JsonText && data.text.length * 3 <= RECEIVED_BYTES_MAX) return true
  return Buffer.byteLength(JSON.stringify(data)) <= RECEIVED_BYTES_MAX
}

/** The upstream whose events are logged: none if the component is called by another one, because no view shows them there. */
export function recordedUpstream(
  upstream: UpstreamInfo | undefined,
  { runId }: Pick<RunContext, 'runId'>,
): UpstreamInfo | undefined {
  return runId.includes('/') ? undefined : upstream
}
