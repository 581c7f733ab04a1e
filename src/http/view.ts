/** A protocol's view of a log: streamed, or folded into one response. Live tail and replay use the same function. */
import { START } from '../core/model/cursor.ts'
import { HoldfastError } from '../core/model/errors.ts'
import type { LoggedEvent } from '../core/model/event.ts'
import { shareEventLoop } from '../core/runtime/share-event-loop.ts'
import type { Principal } from '../core/model/principal.ts'
import type { Projection } from '../core/ports/projection.ts'
import { events, lastOf, type Slice } from '../core/model/record.ts'
import type { Run } from '../core/model/run.ts'
import type { Service } from '../core/service.ts'
import type { StreamFormat } from './stream.ts'

/** How a protocol encodes the frames of a projection. */
export interface Wire<Frame> extends Omit<StreamFormat, 'encode' | 'done'> {
  encode(frame: Frame): string
}

export interface View<State, Frame> {
  readonly projection: Projection<State, Frame>
  readonly wire: Wire<Frame>
  readonly run: Run
  /** Whether the client still needs a frame. Default: all frames. */
  readonly wanted?: (frame: Frame) => boolean
  /** Whether a frame ends the stream before the run ends, such as a pause. */
  readonly ends?: (frame: Frame) => boolean
}

/** For one stream, which must start at the beginning of the log: frames that the client already has are folded but not sent. */
export function viewFormat<State, Frame>({ projection, wire, run, wanted, ends }: View<State, Frame>): StreamFormat {
  let state = projection.initial(run)
  let ended = false
  return {
    ...wire,
    encode(slice) {
      let text = ''
      for (const event of eventsOf(slice)) {
        const projected = projection.apply(state, event)
        state = projected.state
        for (const frame of projected.frames) {
          if (ended || wanted?.(frame) === false) continue
          text += wire.encode(frame)
          ended = ends?.(frame) === true
        }
      }
      return text
    },
    done: () => ended,
    notice: (notice) => wire.notice(notice),
  }
}

export interface FoldOptions<State> {
  /** Stops before the log ends, such as at a pause. */
  readonly until?: (state: State, event: LoggedEvent) => boolean
  /** Wait for the end of the run. Default: read the log's current events. */
  readonly wait?: AbortSignal
  /** The state is not sent to the client, so the size limit for responses does not apply. */
  readonly isLookup?: boolean
}

/** Overhead per record: names, index and time. */
const RECORD_BYTES = 200
/** Maximum content of one run, as a multiple of the limit for list responses. Serializing more would block the event loop. */
const CONTENT_ANSWERS = 2

/** Folds a run's log, with `wait` until its end. Throws `too_large` if the result exceeds one response. */
export async function foldRun<State>(
  service: Service,
  principal: Principal,
  id: string,
  projection: Projection<State, unknown>,
  { until, wait, isLookup = false }: FoldOptions<State> = {},
): Promise<State> {
  const { run, first, next } = await service.get(principal, id)
  let state = projection.initial(run)
  let bytesLeft = service.limits.foldBytesMax
  let contentLeft = isLookup ? Infinity : CONTENT_ANSWERS * service.limits.responseBytesMax
  for (let after = Math.max(START, first - 1); ;) {
    // Stop at the log's end as of the request: a run may append faster than this reads.
    if (wait === undefined && after >= next - 1) return state
    const slice = await service.read(principal, id, after)
    if (slice === undefined) {
      if (wait === undefined) return state
      await waitForMore(service, principal, id, after, wait)
      continue
    }
    bytesLeft -= slice.bytes.length
    contentLeft -= Math.max(slice.bytes.length - RECORD_BYTES * slice.count, 0)
    if (bytesLeft < 0 || contentLeft < 0) throw foldTooLarge(id)
    for (const event of eventsOf(slice)) {
      state = projection.apply(state, event).state
      if (until?.(state, event) === true) return state
      const turn = shareEventLoop()
      if (turn !== undefined) await turn
    }
    if (slice.closed) return state
    after = lastOf(slice)
  }
}

function foldTooLarge(id: string): HoldfastError {
  return new HoldfastError('too_large', `the log of run ${id} is too large for one response; stream its events instead`)
}

async function waitForMore(
  service: Service,
  principal: Principal,
  id: string,
  after: number,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) throw new HoldfastError('unavailable', 'the client disconnected before the response was ready')
  if (service.closed) throw new HoldfastError('unavailable', 'the server is shutting down; the run continues')
  await service.waitForMore(principal, id, after, service.limits.longPollTimeoutMs, signal)
}

/** Subscribers at the tail share each slice and its parsed events. */
const parsed = new WeakMap<Slice, readonly LoggedEvent[]>()

function eventsOf(slice: Slice): readonly LoggedEvent[] {
  let known = parsed.get(slice)
  if (known === undefined) parsed.set(slice, (known = events(slice)))
  return known
}
