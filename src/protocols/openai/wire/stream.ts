/** The stream of this wire: server-sent events whose every frame has data, and comments for life. */
import type { Notice } from '../../../http/stream.ts'
import { type ErrorObject, toErrorObject } from './errors.ts'

/** The official Python client takes a frame without data, such as a lone `retry:`, for broken JSON; comments are safe in all. */
const PING = ': ping\n\n'

export const streamHead = {
  contentType: 'text/event-stream; charset=utf-8',
  preamble: PING,
  heartbeat: PING,
}

/** One frame; without a name where the wire has none. */
export function encodeData(data: object | string, event?: string): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`
}

/**
 * A stream that ends before its run does is cut: a clean end of the body is a success for several clients. What is wrong with the log
 * is told by whoever has a frame for it.
 */
export function noticeOf(notice: Notice, tell: (error: ErrorObject) => string | undefined): string | undefined {
  return notice.kind === 'failed' ? tell(toErrorObject(notice.error)) : undefined
}
