/** Events of an upstream, as its run's log keeps them. */
import { emit, type Emission, type RunContext, emitTogether, type UpstreamInfo } from '../../core/ports/component.ts'
import type { Event } from '../../core/model/event.ts'

/** Maximum size of an event that is kept as it came. Of a larger one only what is derived is kept. */
const RECEIVED_BYTES_MAX = 256 * 1024

/** An upstream's event with what is derived from it, for one append. Without an upstream only the latter. */
export function* withReceived(
  upstream: Pick<UpstreamInfo, 'protocol'> | undefined,
  name: string,
  data: unknown,
  derived: Iterable<Event>,
): Generator<Emission> {
  if (upstream === undefined) return yield* derived
  const { protocol } = upstream
  const fits = Buffer.byteLength(JSON.stringify(data)) <= RECEIVED_BYTES_MAX
  yield emitTogether([emit('upstream.received', { protocol, name, ...(fits && { data }) }), ...derived])
}

/** The upstream whose events a run keeps. In a run that only calls the component, no view would show them. */
export function recordedUpstream(
  upstream: UpstreamInfo | undefined,
  { run }: Pick<RunContext, 'run'>,
): UpstreamInfo | undefined {
  return run.includes('/') ? undefined : upstream
}
