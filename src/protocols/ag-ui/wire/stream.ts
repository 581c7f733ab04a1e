/** Stream format: server-sent events, one per AG-UI event. */
import { encodeFrames } from '../../../core/delivery/encoded.ts'
import type { StreamFormat } from '../../../http/response/stream.ts'
import { encodeSelected, ViewCursor, type FrameFormat } from '../../../http/response/view.ts'
import type { AttachedStream } from '../requests/attach.ts'
import type { AgentFrame } from '../view/state.ts'
import type { AgUiEvent } from './events.ts'

const CONTENT_TYPE = 'text/event-stream; charset=utf-8'

/** The fields in which events differ between clients: the run's id and the client's earlier messages. */
type Personal = Pick<AttachedStream, 'runId' | 'earlier'>

export function agentFrameFormat({ runId, earlier }: Personal): FrameFormat<AgentFrame> {
  return {
    contentType: CONTENT_TYPE,
    preamble: ': open\n\n',
    heartbeat: ': keep-alive\n\n',
    key: `sse ${runId ?? ''}`,
    encode: ({ position, event }) =>
      `id: ${position}\n${encodeEvent(personal(event, { earlier, ...(runId !== undefined && { runId }) }))}`,
    // A clean end looks like success to the client, so a stream that ends before its run is aborted.
    notice: () => undefined,
  }
}

export function agentFormat(stream: AttachedStream): StreamFormat & { readonly after: number } {
  const { view, from, leg = 0, after = -1, snapshot = [], results = new Set() } = stream
  const frameFormat = agentFrameFormat(stream)
  const cursor = new ViewCursor({
    view,
    ...(from !== undefined && { from }),
    ...((leg > 0 || after >= 0) && { isNeeded: (frame: AgentFrame) => frame.leg >= leg && frame.position > after }),
  })
  return {
    ...frameFormat,
    headers: runHeaders(stream),
    preamble: frameFormat.preamble + encodeSnapshot(stream, snapshot),
    after: cursor.at.index,
    encode(slice) {
      const taken = cursor.take(slice)
      const frames = taken.step.frames.slice(taken.begin, taken.end)
      if (!frames.some(({ event }) => isPersonal(event, results))) return encodeSelected(frameFormat, taken)
      return encodeFrames(
        frameFormat,
        frames.filter(({ event }) => !isKnownResult(event, results)),
      )
    },
    done: () => cursor.ended,
    referenced: () => cursor.referenced,
  }
}

/** The whole response for a run that has ended. */
export function encodeSnapshot(personalOf: Personal, events: readonly AgUiEvent[]): string {
  return events.map((event) => encodeEvent(personal(event, personalOf))).join('')
}

export const eventStreamType = CONTENT_TYPE

export function runHeaders({ run }: Pick<AttachedStream, 'run'>): Readonly<Record<string, string>> {
  return { 'holdfast-run': run }
}

/** Whether an event differs between clients. All other bytes are shared by clients with the same run id. */
function isPersonal(event: AgUiEvent, results: ReadonlySet<string>): boolean {
  return event.type === 'MESSAGES_SNAPSHOT' || isKnownResult(event, results)
}

function isKnownResult(event: AgUiEvent, results: ReadonlySet<string>): boolean {
  return event.type === 'TOOL_CALL_RESULT' && results.has(event.toolCallId)
}

function encodeEvent(event: AgUiEvent): string {
  return `data: ${JSON.stringify(event)}\n\n`
}

function personal(event: AgUiEvent, { runId, earlier }: Personal): AgUiEvent {
  if (event.type === 'MESSAGES_SNAPSHOT')
    return { ...event, messages: [...(earlier as typeof event.messages), ...event.messages] }
  const isNamed = event.type === 'RUN_STARTED' || event.type === 'RUN_FINISHED'
  return isNamed && runId !== undefined ? { ...event, runId } : event
}
