/** Writes server-sent events. Log records are stored as frames already; this is for everything else on a stream. */

/** Sent in silence: shows life to clients and to proxies on the way. */
export const HEARTBEAT = ':\n\n'

export interface Frame {
  readonly event: string
  /** Becomes one line of JSON. */
  readonly data: unknown
  readonly id?: string
}

export function encodeFrame({ event, data, id }: Frame): string {
  return `${id === undefined ? '' : `id: ${field(id)}\n`}event: ${field(event)}\ndata: ${JSON.stringify(data)}\n\n`
}

/** The wait that a client should keep before it connects again. */
export function encodeRetry(milliseconds: number): string {
  return `retry: ${milliseconds}\n\n`
}

/** A line break in a field would start another one. */
function field(value: string): string {
  if (/[\r\n\0]/.test(value))
    throw new TypeError(`an event stream field cannot hold a line break or NUL: ${JSON.stringify(value)}`)
  return value
}
