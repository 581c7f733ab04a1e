/** Finds a logged text that was split differently: an agent that repeats its request may emit the same text in one piece. */
import { EncodedEvent } from '../execution/emission.ts'
import { eventOf } from '../model/record.ts'
import { digestOfBody, type EmittedList, END_CHARS } from './emitted-output.ts'

export interface LoggedPieces {
  /** Position of the first logged event after the text. */
  readonly position: number
  /** The part of the text that is not logged; undefined if there is none. */
  readonly rest: EncodedEvent | undefined
}

/** Undefined if the log does not continue with a piece of the text. Only whole pieces count. */
export function loggedPieces(event: EncodedEvent, emitted: EmittedList, from: number): LoggedPieces | undefined {
  const text = textIn(event)
  if (text === undefined) return undefined
  const { body, type, actor } = event
  const [head, tail] = [body.slice(0, text.start), body.slice(text.end)]
  const around = head.length + tail.length - END_CHARS
  let [position, start] = [from, text.start]
  while (position < emitted.length && start < text.end) {
    const end = start + emitted.charsAt(position) - around
    if (end <= start || end > text.end) break
    if (!emitted.isAt(position, digestOfBody(head + body.slice(start, end) + tail))) break
    position++
    start = end
  }
  if (position === from) return undefined
  return { position, rest: start === text.end ? undefined : new EncodedEvent(type, head + body.slice(start), actor) }
}

/** The end event of the text that a delta belongs to, as logged: a snapshot of an upstream does not mark complete texts. */
export function endOfText({ type, body, actor }: EncodedEvent): EncodedEvent | undefined {
  const { data } = eventOf(body)
  const message = (data as { readonly message?: unknown }).message
  if (type !== 'text.delta' || message === undefined) return undefined
  const end = body.slice(0, body.indexOf('"data":{')).replace(type, 'text.completed')
  return new EncodedEvent('text.completed', `${end}"data":{"message":${JSON.stringify(message)}}}\n\n`, actor)
}

/** Position of a delta's text in its body, as JSON without quotes. */
function textIn({ type, body }: EncodedEvent): { readonly start: number; readonly end: number } | undefined {
  if (type !== 'text.delta' && type !== 'reasoning.delta') return undefined
  const field = body.indexOf('"text":"', body.indexOf('"data":{'))
  if (field < 0) return undefined
  const start = field + '"text":"'.length
  let end = start
  while (body[end] !== '"') end += body[end] === '\\' ? 2 : 1
  return { start, end }
}
