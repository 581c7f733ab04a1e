/** A protocol's view of a log: streamed, or folded into one response. Live tail and replay use the same function. */
import { CONTENT_LIMIT_FACTOR } from '../../core/model/limits.ts'
import { START } from '../../core/model/cursor.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import type { LoggedEvent } from '../../core/model/event.ts'
import type { Checkpoint, SharedView } from '../../core/delivery/shared-view.ts'
import { encodeFrames, type Encoded, type Encoding } from '../../core/delivery/encoded.ts'
import type { ViewStep } from '../../core/delivery/view-step.ts'
import { shareEventLoop } from '../../core/runtime/share-event-loop.ts'
import type { Principal } from '../../core/model/principal.ts'
import type { Projection } from '../../core/ports/projection.ts'
import { lastOf, recordsOf, type Slice } from '../../core/model/slice.ts'
import type { Service } from '../../core/service.ts'
import type { Fold } from '../../core/delivery/fold-queue.ts'
import { retainedBytes } from '../../core/delivery/retained-bytes.ts'
import type { ReferencedState } from '../../core/delivery/view-memory.ts'
import { ViewPosition } from '../../core/delivery/view-position.ts'
import type { StoredRun } from '../../core/ports/store.ts'
import type { StreamFormat } from './stream.ts'

/** How a protocol encodes the frames of a view. */
export interface FrameFormat<Frame> extends Omit<StreamFormat, 'encode' | 'done'>, Encoding<Frame> {}

/** The part of a shared view that one subscriber gets. */
export interface ViewSelection<State, Frame> {
  readonly view: SharedView<State, Frame>
  /** The subscription must start after this event. Default: at the beginning. */
  readonly from?: Checkpoint<State>
  /** Whether the client needs a frame, and therefore all later ones. Default: it needs all. */
  readonly isNeeded?: (frame: Frame, log: number) => boolean
  /** Whether a frame that may end a stream ends this one. Default: it does. */
  readonly ends?: (frame: Frame, log: number) => boolean
}

/** The frames of a step that one subscriber gets. */
export interface SelectedFrames<State, Frame> {
  readonly step: ViewStep<State, Frame>
  readonly begin: number
  readonly end: number
}

/** A subscriber's position in a view. It holds no frames. */
export class ViewCursor<State, Frame> {
  readonly #selection: ViewSelection<State, Frame>
  readonly #position: ViewPosition<State, Frame>
  #hasBegun: boolean
  #ended = false

  constructor(selection: ViewSelection<State, Frame>) {
    this.#selection = selection
    this.#position = new ViewPosition(selection.view, selection.from)
    this.#hasBegun = selection.isNeeded === undefined
  }

  /** The state after everything delivered. */
  get at(): Checkpoint<State> {
    return this.#position.at
  }

  get referenced(): ReferencedState {
    return this.#position.referenced
  }

  /** Whether a frame has ended the stream. */
  get ended(): boolean {
    return this.#ended
  }

  take(slice: Slice): SelectedFrames<State, Frame> {
    const step = this.#position.take(slice)
    const begin = this.#hasBegun ? 0 : this.#firstNeeded(step)
    return { step, begin, end: this.#ended ? begin : this.#endOf(step, begin) }
  }

  #firstNeeded({ frames, logs }: ViewStep<State, Frame>): number {
    const { isNeeded } = this.#selection
    const found = frames.findIndex((frame, index) => isNeeded!(frame, logs[index]!))
    this.#hasBegun = found >= 0
    return this.#hasBegun ? found : frames.length
  }

  #endOf({ frames, logs, ends }: ViewStep<State, Frame>, begin: number): number {
    const { ends: endsHere } = this.#selection
    const last = ends.find((index) => index >= begin && (endsHere?.(frames[index]!, logs[index]!) ?? true))
    this.#ended = last !== undefined
    return last === undefined ? frames.length : last + 1
  }
}

/** Streams the frames of a view. Subscribers that get a whole step share its bytes. */
export function viewFormat<State, Frame>(
  format: FrameFormat<Frame>,
  selection: ViewSelection<State, Frame>,
): StreamFormat {
  const cursor = new ViewCursor(selection)
  return {
    ...format,
    encode: (slice) => encodeSelected(format, cursor.take(slice)),
    done: () => cursor.ended,
    referenced: () => cursor.referenced,
    notice: (notice) => format.notice(notice),
  }
}

export function encodeSelected<State, Frame>(
  format: Encoding<Frame>,
  { step, begin, end }: SelectedFrames<State, Frame>,
): Encoded {
  if (begin === end) return ''
  if (end - begin === step.frames.length) return step.encode(format)
  return encodeFrames(format, step.frames, begin, end)
}

export interface FoldOptions<State> {
  /** Stop before the end of the log, such as at a pause. */
  readonly until?: (state: State, event: LoggedEvent) => boolean
  /** Wait for the end of the run. Default: read the log's current events. */
  readonly wait?: AbortSignal
  /** The state is not sent to the client, so the size limit for responses does not apply. */
  readonly isLookup?: boolean
}

/** Overhead per record: names, index and time. */
const RECORD_BYTES = 200

/** Folds a run's log, with `wait` until its end. Throws `too_large` if the result exceeds one response. */
export async function foldRun<State>(
  service: Service,
  principal: Principal,
  id: string,
  projection: Projection<State, unknown>,
  options: FoldOptions<State> = {},
): Promise<State> {
  const stored = await service.get(principal, id)
  const fold = service.views.folds.begin(stored.run.owner)
  try {
    return await foldStored(service, principal, stored, projection, { ...options, fold })
  } finally {
    fold.end()
  }
}

interface StoredFold<State> extends FoldOptions<State> {
  readonly fold: Fold
}

async function foldStored<State>(
  service: Service,
  principal: Principal,
  { run, first, next }: StoredRun,
  projection: Projection<State, unknown>,
  { fold, until, wait, isLookup = false }: StoredFold<State>,
): Promise<State> {
  const { id } = run
  const ended = AbortSignal.any(wait === undefined ? [fold.signal] : [fold.signal, wait])
  let state = projection.initial(run)
  let ownBytes = 0
  let bytesLeft = service.limits.maxUnstreamedLogBytes
  let contentLeft = isLookup ? Infinity : CONTENT_LIMIT_FACTOR * service.limits.maxResponseBytes
  for (let after = Math.max(START, first - 1); ;) {
    // Stop at the log's end as of the request: a run may append faster than this reads.
    if (wait === undefined && after >= next - 1) return state
    const slice = await service.read(principal, id, after)
    if (slice === undefined) {
      if (wait === undefined) return state
      fold.pause()
      await waitForMore(service, principal, id, after, ended)
      fold.signal.throwIfAborted()
      continue
    }
    bytesLeft -= slice.bytes.length
    contentLeft -= Math.max(slice.bytes.length - RECORD_BYTES * slice.count, 0)
    if (bytesLeft < 0 || contentLeft < 0) throw foldTooLarge(id)
    for (const { event, text, isAscii } of recordsOf(slice)) {
      state = projection.apply(state, event).state
      ownBytes += retainedBytes(event, text.length, isAscii)
      if (until?.(state, event) === true) return state
      const nextTick = shareEventLoop()
      if (nextTick !== undefined) await nextTick
    }
    if (slice.closed) return state
    fold.retain({ view: fold, sharedBytes: 0, ownBytes })
    after = lastOf(slice)
    if (after < next - 1) await fold.proceed()
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
  if (service.isClosed) throw new HoldfastError('unavailable', 'the server is shutting down; the run continues')
  await service.waitForMore(principal, id, after, service.limits.longPollTimeoutMs, signal)
}
