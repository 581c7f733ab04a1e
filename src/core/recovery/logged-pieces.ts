/** Finds a text in the log that came in other pieces: an agent that is asked again may say the same in one piece. */
import { EncodedEvent } from '../execution/emission.ts'
import { eventOf } from '../model/record.ts'
import { digestOfBody, type EmittedList, END_CHARS } from './emitted-output.ts'

export interface LoggedPieces {
  /** Of the first event in the log that the text has not reached. */
  readonly position: number
  /** What the text has more than these pieces; undefined if nothing. */
  readonly rest: EncodedEvent | undefined
}

/** Undefined if the log does not go on with a piece of the text. Only whole pieces count. */
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

/** The end of the text that a delta belongs to, as it would be in the log: a snapshot of an upstream does not say which texts are complete. */
export function endOfText({ type, body, actor }: EncodedEvent): EncodedEvent | undefined {
  const { data } = eventOf(body)
  const message = (data as { readonly message?: unknown }).message
  if (type !== 'text.delta' || message === undefined) return undefined
  const end = body.slice(0, body.indexOf('"data":{')).replace(type, 'text.completed')
  return new EncodedEvent('text.completed', `${end}"data":{"message":${JSON.stringify(message)}}}\n\n`, actor)
}

/** Where the text of a delta is in its body, as JSON without its quotes. */
function textIn({ type, body }: EncodedEvent): { readonly start: number; readonly end: number } | undefined {
  if (type !== 'text.delta' && type !== 'reasoning.delta') return undefined
  const field = body.indexOf('"text":"', body.indexOf('"data":{'))
  if (field < 0) return undefined
  const start = field + '"text":"'.length
  let end = start
  while (body[end] !== '"') end += body[end] === '\\' ? 2 : 1
  return { start, end }
}
