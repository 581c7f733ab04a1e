/** Stream format: server-sent events of the UI message stream, version 1. */
import { encodeFrames } from '../../../core/delivery/encoded.ts'
import type { Notice, StreamFormat } from '../../../http/response/stream.ts'
import { encodeSelected, type FrameFormat } from '../../../http/response/view.ts'
import { ChatCursor, type ChatCursorOptions } from './chat-cursor.ts'
import type { ChatFrame } from '../../../ai-sdk/view/state.ts'
import { type Leg, toStreamId } from '../../../ai-sdk/ids.ts'

export const chatFrameFormat: FrameFormat<ChatFrame> = {
  contentType: 'text/event-stream; charset=utf-8',
  // The comments that the AI SDK's own streams send.
  preamble: ': stream-open\n\n',
  heartbeat: ': keep-alive\n\n',
  key: 'sse',
  encode: (frame) => {
    const json = frame.json ?? jsonOf(frame.chunk)
    return json === undefined ? '' : `data: ${json}\n\n`
  },
  // A clean end without `finish` looks like success, so a stream that ends before its run is aborted.
  notice: (_notice: Notice) => undefined,
}

function jsonOf(chunk: ChatFrame['chunk']): string | undefined {
  return typeof chunk === 'object' ? JSON.stringify(chunk) : chunk
}

export interface ChatStream extends ChatCursorOptions {
  readonly leg: Leg
  /** Number of times the message was restarted because output that clients have was retracted. Default: 0. */
  readonly restart?: number
  /** Number of the last chunk, for clients that asked for the last chunks. */
  readonly tail?: number
  /** Number of chunks that a replay has to begin with. */
  readonly replayed?: number
}

export function chatFormat(stream: ChatStream): StreamFormat & { readonly after: number } {
  const cursor = new ChatCursor(stream)
  const { leg, restart = 0, tail, replayed } = stream
  return {
    ...chatFrameFormat,
    headers: {
      'x-vercel-ai-ui-message-stream': 'v1',
      'x-workflow-run-id': toStreamId(leg),
      'holdfast-run': leg.run,
      // Each restart numbers the chunks from 0.
      'holdfast-stream': `${toStreamId(leg)}.${restart}`,
      ...(replayed !== undefined && { 'holdfast-replay-length': String(replayed) }),
      ...(tail !== undefined && { 'x-workflow-stream-tail-index': String(tail) }),
    },
    after: cursor.after,
    encode(slice) {
      const { frames, shared } = cursor.take(slice)
      return shared === undefined ? encodeFrames(chatFrameFormat, frames) : encodeSelected(chatFrameFormat, shared)
    },
    referenced: () => cursor.referenced,
    done: () => (cursor.end === 'cut' ? 'aborted' : cursor.end !== undefined),
  }
}
