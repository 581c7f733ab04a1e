/** Stream format: server-sent events with data in every frame, and comments as heartbeats. */
import type { Notice } from '../../../http/response/stream.ts'
import { type ErrorObject, toErrorObject } from './errors.ts'

/** The official Python client fails on frames without data, such as a lone `retry:`; comments are safe in all clients. */
const PING = ': ping\n\n'

export const streamHead = {
  contentType: 'text/event-stream; charset=utf-8',
  preamble: PING,
  heartbeat: PING,
}

/** One frame, with an optional event name. */
export function encodeData(data: object | string, event?: string): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`
}

/**
 * A stream that ends before its run is aborted, because several clients treat a clean end as success. Errors of the log are sent as a
 * frame if the API has one.
 */
export function noticeOf(notice: Notice, tell: (error: ErrorObject) => string | undefined): string | undefined {
  return notice.kind === 'failed' ? tell(toErrorObject(notice.error)) : undefined
}
