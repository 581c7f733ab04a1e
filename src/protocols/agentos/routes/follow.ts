/** Streams a run, from its beginning or a position, until it ends or pauses. */
import type { Checkpoint, SharedView } from '../../../core/delivery/shared-view.ts'
import type { Limits } from '../../../core/model/limits.ts'
import { lastOf, type Slice } from '../../../core/model/slice.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import type { Subscription } from '../../../core/delivery/subscription.ts'
import { encodeFrames, joinEncoded } from '../../../core/delivery/encoded.ts'
import type { Call } from '../../../http/routing/route.ts'
import type { Notice, Stream, StreamFormat } from '../../../http/response/stream.ts'
import { encodeSelected, type SelectedFrames, ViewCursor, type FrameFormat } from '../../../http/response/view.ts'
import type { ReferencedState } from '../../../core/delivery/view-memory.ts'
import { encodeJson, encodeRetry } from '../../../sse/index.ts'
import { encodeMetaEvents, type MetaEvent } from '../view/meta-events.ts'
import type { AgentOs } from '../requests/agent-os.ts'
import type { Frame } from '../view/frame-writer.ts'
import type { State } from '../view/state.ts'

/** State of the log when the stream opens, which separates replay from live events. */
export type LogAtOpen = Pick<StoredRun, 'run' | 'first' | 'next'>

export interface FollowRequest {
  readonly known: LogAtOpen
  /** Where the subscription starts. Default: at the beginning of the log. */
  readonly from?: Checkpoint<State>
  /** Frames that the client still needs. Default: all. */
  readonly isNeeded?: (frame: Frame) => boolean
  /** Sent first. */
  readonly opening?: readonly MetaEvent[]
  /** Sent after the replay if the run is unfinished. */
  readonly caughtUp?: MetaEvent
}

export async function follow(call: Call, os: AgentOs, what: FollowRequest): Promise<void> {
  const { service, streams } = os
  const { id } = what.known.run
  const cursor = new FollowCursor(os, what)
  const format = followFormat(cursor, what, sseFrameFormat(id, service.limits, encodeMetaEvents(what.opening ?? [])))
  const subscribe = (stream: Stream): Promise<Subscription> =>
    service.subscribe(call.principal, id, cursor.after, stream)
  await streams.serve(call.response, format, subscribe)
}

/** The frames of a run from a log index on. */
export async function followFrom(os: AgentOs, known: LogAtOpen, since: number): Promise<FollowRequest> {
  if (since === 0) return { known }
  const view = os.views.open(known)
  await view.verify()
  return { known, from: view.nearest({ event: since }), isNeeded: ({ log }) => log >= since }
}

/** Frames of a slice, and where the replay ends in it. */
export interface FollowedFrames extends SelectedFrames<State, Frame> {
  /** The frame before which the stream switches from replay to live. */
  readonly live?: number
}

/** A subscriber's position in the view of a run. The stream ends at a pause. */
export class FollowCursor {
  readonly view: SharedView<State, Frame>
  readonly #known: LogAtOpen
  readonly #marksLive: boolean
  readonly #cursor: ViewCursor<State, Frame>

  constructor(os: AgentOs, { known, from, isNeeded, caughtUp }: FollowRequest) {
    this.view = os.views.open(known)
    this.#known = known
    this.#marksLive = caughtUp !== undefined
    this.#cursor = new ViewCursor({
      view: this.view,
      ...(from !== undefined && { from }),
      ...(isNeeded !== undefined && { isNeeded }),
      ends: (_frame, log) => log >= known.next,
    })
  }

  /** The log index after which the subscription must start. */
  get after(): number {
    return this.#cursor.at.index
  }

  get referenced(): ReferencedState {
    return this.#cursor.referenced
  }

  take(slice: Slice): FollowedFrames {
    const taken = this.#cursor.take(slice)
    const { next } = this.#known
    const catchesUp = this.#marksLive && slice.first < next && lastOf(slice) >= next - 1 && !slice.closed
    if (!catchesUp) return taken
    const first = taken.step.logs.findIndex((log) => log >= next)
    const live = first < 0 ? taken.end : Math.max(taken.begin, Math.min(first, taken.end))
    return { ...taken, live }
  }

  get done(): boolean {
    const { run, next } = this.#known
    return this.#cursor.ended || (run.status === 'paused' && this.after === next - 1)
  }
}

function followFormat(
  cursor: FollowCursor,
  { caughtUp }: FollowRequest,
  frameFormat: FrameFormat<Frame>,
): StreamFormat {
  return {
    ...frameFormat,
    encode(slice) {
      const { live, ...taken } = cursor.take(slice)
      if (live === undefined) return encodeSelected(frameFormat, taken)
      const { step, begin, end } = taken
      const before = encodeFrames(frameFormat, step.frames, begin, live)
      return joinEncoded(before, encodeMetaEvents([caughtUp!]), encodeFrames(frameFormat, step.frames, live, end))
    },
    done: () => cursor.done,
    referenced: () => cursor.referenced,
  }
}

export function sseFrameFormat(run: string, { retryDelayMs }: Limits, opening = ''): FrameFormat<Frame> {
  return {
    contentType: 'text/event-stream; charset=utf-8',
    headers: { 'holdfast-run': run },
    preamble: encodeRetry(retryDelayMs) + opening,
    heartbeat: ': heartbeat\n\n',
    key: 'sse',
    encode: ({ index, event, json }) => encodeJson(event, json, index),
    notice: (notice) => encodeMetaEvents(noticeOf(run, notice)),
  }
}

/** A stream that ends early sends the reason in an event that AgentOS clients ignore. */
export function noticeOf(run: string, notice: Notice): readonly MetaEvent[] {
  switch (notice.kind) {
    case 'gap':
      return [] // the meta events of a resumed stream report it
    case 'closing': {
      const message = `The server ends this stream (${notice.reason}); the run continues. Resume it.`
      return [{ event: 'stream_expired', run_id: run, status: 'RUNNING', message }]
    }
    case 'failed':
      return [{ event: 'error', error: notice.error.message, run_id: run }]
  }
}
