/**
 * The stored form of an event. A record is written once, when the event enters the log, and is never written again:
 * it is also the frame that the native protocol sends, so replay is a copy of bytes.
 *
 *     id: 7
 *     event: text.delta
 *     data: {"run":"run_…","index":7,"time":"2026-01-01T00:00:00.000Z","type":"text.delta","data":{"text":"hi"}}
 *     <blank line>
 *
 * JSON escapes every line break, so `\n\n` ends a record and `\n\nid: N\n` finds one without parsing anything.
 */
import type { Event, EventType } from './event.ts'
import { JsonText } from './json-text.ts'
import { serialize, type SerializeBounds, UnserializableError } from './serialize.ts'

/** The part of a record that does not depend on its position in a log: type, actor and data. */
export type RecordBody = string

export function encodeBody(event: Event, bounds: SerializeBounds): RecordBody {
  if (typeof event.data !== 'object' || event.data === null) throw new UnserializableError('data', 'is not an object')
  const actor = event.actor === undefined ? '' : `"actor":${serialize(event.actor, 'actor', bounds)},`
  const data = receivedJson(event, bounds) ?? serialize(event.data, 'data', bounds)
  return `"type":"${event.type}",${actor}"data":${data}}\n\n`
}

/** Encodes an upstream's event, which is JSON already. Undefined if it may exceed the limits. */
function receivedJson(event: Event, { maxDepth, maxBytes }: SerializeBounds): string | undefined {
  if (event.type !== 'upstream.received' || !(event.data.data instanceof JsonText)) return undefined
  const { protocol, name, data } = event.data
  const text = data.within(maxDepth - 1)
  if (text === undefined || text.length * 3 + RECEIVED_BYTES_MAX > maxBytes) return undefined
  return `{"protocol":${JSON.stringify(protocol)},"name":${JSON.stringify(name)},"data":${text}}`
}

/** Upper bound for everything except the upstream's own data. */
const RECEIVED_BYTES_MAX = 4096

/** What a yielded string becomes: most events of most runs, so it takes the shortest way. */
export function encodeTextBody(text: string, bounds: SerializeBounds): RecordBody {
  return `"type":"text.delta","data":{"text":${serialize(text, 'data.text', bounds)}}}\n\n`
}

/** The event of a body. */
export function eventOf(body: RecordBody): Event {
  return JSON.parse(`{${body}`) as Event
}

export function encodeRecord(run: string, index: number, time: string, type: EventType, body: RecordBody): string {
  return `id: ${index}\nevent: ${type}\ndata: {"run":"${run}","index":${index},"time":"${time}",${body}`
}
