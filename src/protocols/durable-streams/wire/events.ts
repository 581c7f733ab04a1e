/** Server-sent events: every append is a `data` event, followed by a `control` event with the offset to continue from. */
import type { Slice } from '../../../core/model/slice.ts'
import type { StreamFormat } from '../../../http/response/stream.ts'
import { piecesOf, type Readable } from '../view/readable.ts'
import { bytesOf, type Content, isText } from './content.ts'
import { nextCursor, toOffset } from './offsets.ts'

interface EventsRequest {
  /** Index of the first record to send. */
  readonly from: number
  /** The client's cursor. */
  readonly cursor: string | null
  readonly now: () => number
}

export function eventsFormat(readable: Readable, { from, cursor, now }: EventsRequest): StreamFormat {
  const { contentType, isClosed, tail } = readable
  const isBinary = !isText(contentType)
  const control = (next: number, closed: boolean): string => {
    const state = closed ? { streamClosed: true } : { streamCursor: nextCursor(now(), cursor) }
    const upToDate = next >= tail || closed ? { upToDate: true } : {}
    return event('control', JSON.stringify({ streamNextOffset: toOffset(next), ...state, ...upToDate }))
  }
  // At the end of the stream there is no slice, so the end is reported here.
  const isAtEnd = from >= tail && (!isClosed || from >= readable.stored.next)
  return {
    contentType: 'text/event-stream',
    ...(isBinary && { headers: { 'stream-sse-data-encoding': 'base64' } }),
    preamble: isAtEnd ? control(from, isClosed) : '',
    heartbeat: ':\n\n',
    encode(slice: Slice) {
      const { pieces, next, isEnd } = piecesOf(slice, readable)
      const sent = pieces.flatMap((piece) =>
        piece.content === undefined ? [] : [{ ...piece, content: piece.content }],
      )
      const last = sent.at(-1)
      const text = sent
        .map(
          (piece) =>
            event('data', dataOf(piece.content, isBinary)) +
            control(piece.next, isEnd && piece === last && piece.next >= next),
        )
        .join('')
      // The end of a stream comes after its last append, and an empty stream has only records without a message.
      const isTold = last !== undefined && last.next >= next
      return isTold || (!isEnd && next < tail) ? text : text + control(next, isEnd)
    },
    notice: ({ kind }) => (kind === 'closing' ? '' : undefined),
  }
}

/** Replaces invalid UTF-8 of a text stream: an event can contain nothing else. */
function dataOf(content: Content, isBinary: boolean): string {
  if ('json' in content) return `[${content.json.join(',')}]`
  return 'base64' in content && isBinary ? content.base64 : bytesOf(content).toString()
}

/** Each line of the payload gets its own `data` line, so that a payload cannot end its event. */
function event(name: string, payload: string): string {
  const lines = payload.split(/\r\n|\r|\n/)
  return `event: ${name}\n${lines.map((line) => `data:${line}\n`).join('')}\n`
}
