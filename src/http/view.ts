/** A protocol's view of a log: on a stream that stays open, or folded into one answer. Live and replay are the same function. */
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

/** How a wire writes the frames of a projection. */
export interface Wire<Frame> extends Omit<StreamFormat, 'encode' | 'done'> {
  encode(frame: Frame): string
}

export interface View<State, Frame> {
  readonly projection: Projection<State, Frame>
  readonly wire: Wire<Frame>
  readonly run: Run
  /** Whether the client has yet to get a frame; all of them where this is absent. */
  readonly wanted?: (frame: Frame) => boolean
  /** Whether a frame ends the stream though the run goes on, such as a pause. */
  readonly ends?: (frame: Frame) => boolean
}

/** For one stream, which must begin at the start of the log: it folds what the client has already too, and does not send it. */
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
  /** Where to stop before the log ends, such as at a pause. */
  readonly until?: (state: State, event: LoggedEvent) => boolean
  /** Without it the log is read as it is now. */
  readonly wait?: AbortSignal
  /** The state is looked at and not answered with: its content may be larger than an answer. */
  readonly isLookup?: boolean
}

/** Of a record, what is not content: its names, its number and its time. */
const RECORD_BYTES = 200
/** Of the content of one run in an answer, as a multiple of the answers that list several: to write more takes too long a turn. */
const CONTENT_ANSWERS = 2

/** The state of a projection at the end of a run's log, which is waited for. Throws `too_large` when it is more than one answer holds. */
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
    // As it was when it was asked for: a run may write faster than its log is read.
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
  return new HoldfastError(
    'too_large',
    `the log of run ${id} is too long for one answer; read its events as a stream instead`,
  )
}

async function waitForMore(
  service: Service,
  principal: Principal,
  id: string,
  after: number,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) throw new HoldfastError('unavailable', 'the client left before the answer was there')
  if (service.closed) throw new HoldfastError('unavailable', 'the server is shutting down; the run goes on')
  await service.waitForMore(principal, id, after, service.limits.longPollTimeoutMs, signal)
}

/** Those who follow a run at its tail share each slice, and so what was parsed of it. */
const parsed = new WeakMap<Slice, readonly LoggedEvent[]>()

function eventsOf(slice: Slice): readonly LoggedEvent[] {
  let known = parsed.get(slice)
  if (known === undefined) parsed.set(slice, (known = events(slice)))
  return known
}
