/** Streams a run, from its beginning or a position, until it ends or pauses. */
import { START } from '../../../core/model/cursor.ts'
import type { Limits } from '../../../core/model/limits.ts'
import { lastOf, sliceAfter, sliceBefore } from '../../../core/model/record.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import type { Subscription } from '../../../core/delivery/subscription.ts'
import type { Call } from '../../../http/route.ts'
import type { Notice, Stream, StreamFormat } from '../../../http/stream.ts'
import { viewFormat, type Wire } from '../../../http/view.ts'
import { encodeFrame, encodeRetry } from '../../../sse/index.ts'
import { encodeMetas, type Meta } from '../view/metas.ts'
import type { AgentOs } from '../requests/agent-os.ts'
import type { Frame } from '../view/frame-writer.ts'

/** State of the log when the stream opens, which separates replay from live events. */
export type LogAtOpen = Pick<StoredRun, 'run' | 'first' | 'next'>

export interface Follow {
  readonly known: LogAtOpen
  /** Frames that the client still needs. Default: all. */
  readonly wanted?: (frame: Frame) => boolean
  /** Sent first. */
  readonly opening?: string
  /** Sent after the replay if the run is unfinished. */
  readonly caughtUp?: string
}

export async function follow(call: Call, os: AgentOs, what: Follow): Promise<void> {
  const { service, streams } = os
  const { id } = what.known.run
  const format = followFormat(os, what, sseWire(id, service.limits, what.opening))
  const subscribe = (stream: Stream): Promise<Subscription> =>
    service.subscribe(call.principal, id, beginningOf(what.known), stream)
  await streams.serve(call.response, format, subscribe)
}

/** Subscribes from the start: frames that the client already has are folded but not sent. */
export function beginningOf({ first }: LogAtOpen): number {
  return Math.max(START, first - 1)
}

export function followFormat(os: AgentOs, { known, wanted, caughtUp }: Follow, wire: Wire<Frame>): StreamFormat {
  const view = viewFormat({
    projection: os.projection,
    wire,
    run: known.run,
    ...(wanted !== undefined && { wanted }),
    ends: (frame) => frame.pauses === true && frame.log >= known.next,
  })
  return untilSettled(view, known, caughtUp)
}

/** Ends the stream at a pause, and marks the end of the replay. */
function untilSettled(view: StreamFormat, { run, next }: LogAtOpen, caughtUp: string | undefined): StreamFormat {
  let folded = -1
  return {
    ...view,
    encode(slice) {
      folded = lastOf(slice)
      const catchesUp = caughtUp !== undefined && slice.first < next && folded >= next - 1 && !slice.closed
      if (!catchesUp) return view.encode(slice)
      return `${text(view.encode(sliceBefore(slice, next)))}${caughtUp}${text(view.encode(sliceAfter(slice, next - 1)))}`
    },
    done: () => view.done?.() === true || (run.status === 'paused' && folded === next - 1),
  }
}

function text(encoded: Uint8Array | string): string {
  return typeof encoded === 'string' ? encoded : new TextDecoder().decode(encoded)
}

export function sseWire(run: string, { retryDelayMs }: Limits, opening = ''): Wire<Frame> {
  return {
    contentType: 'text/event-stream; charset=utf-8',
    headers: { 'holdfast-run': run },
    preamble: encodeRetry(retryDelayMs) + opening,
    heartbeat: ': heartbeat\n\n',
    encode: ({ index, event, data }) => encodeFrame({ id: String(index), event, data }),
    notice: (notice) => encodeMetas(noticeOf(run, notice)),
  }
}

/** A stream that ends early sends the reason in an event that AgentOS clients ignore. */
export function noticeOf(run: string, notice: Notice): readonly Meta[] {
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
