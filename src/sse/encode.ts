/** Encodes server-sent events. Log records are already stored as frames; this is for everything else on a stream. */

/** Sent on idle streams to keep clients and proxies connected. */
export const HEARTBEAT = ':\n\n'

/** A server-sent event to encode. */
export interface Frame {
  readonly event: string
  /** Encoded as one line of JSON. */
  readonly data: unknown
  readonly id?: string
}

/** Encodes one server-sent event. */
export function encodeFrame({ event, data, id }: Frame): string {
  return encodeJson(event, JSON.stringify(data), id)
}

/** A frame whose data is JSON already. */
export function encodeJson(event: string, json: string, id?: string | number): string {
  return `${id === undefined ? '' : `id: ${typeof id === 'number' ? id : field(id)}\n`}event: ${field(event)}\ndata: ${json}\n\n`
}

/** How long a client should wait before it reconnects. */
export function encodeRetry(milliseconds: number): string {
  return `retry: ${milliseconds}\n\n`
}

/** Rejects line breaks, which would start another field. */
function field(value: string): string {
  if (/[\r\n\0]/.test(value))
    throw new TypeError(`an event stream field cannot hold a line break or NUL: ${JSON.stringify(value)}`)
  return value
}
