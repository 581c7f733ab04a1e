/** Repairs an append that redaction has changed, so that readers and writers of the stream can still use it. */
import type { Event } from '../../../core/model/event.ts'
import { appendedIn, appendEvent, type ProducerPosition } from '../view/stream-state.ts'
import type { Content } from '../wire/content.ts'
import { wrong } from './headers.ts'

export function redactedAppend(redacted: Event, given: Event): Event {
  if (turnOf(redacted) !== turnOf(given))
    throw wrong('Producer-Id or Stream-Seq holds what this server redacts: the stream could not recognize it again')
  const appended = appendedIn(redacted)
  return appended === undefined ? redacted : appendEvent({ ...appended, content: stillJson(appended.content) })
}

/** The value that later appends are compared with. */
function turnOf(event: Event): string {
  const { seq, producer } = appendedIn(event) ?? { producer: closingPositionOf(event) }
  return JSON.stringify([seq, producer])
}

function closingPositionOf(event: Event): ProducerPosition | undefined {
  const output = event.type === 'run.completed' ? event.data.output : undefined
  return (output as { readonly producer?: ProducerPosition } | undefined)?.producer
}

/** A replaced number or key may make the message invalid JSON: it then becomes a string with its text. */
function stillJson(content: Content): Content {
  if (!('json' in content)) return content
  return { json: content.json.map((message) => (isJson(message) ? message : JSON.stringify(message))) }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
