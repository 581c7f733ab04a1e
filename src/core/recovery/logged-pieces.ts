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
  const text = deltaText(event)
  if (text === undefined) return undefined
  let [position, start] = [from, text.start]
  while (position < emitted.length) {
    const end = endOfPiece(text, start, emitted, position)
    if (end === undefined) break
    position++
    start = end
  }
  return position === from ? undefined : { position, rest: textAfter(event, text, start) }
}

/** End, in the text, of the logged piece at a position; undefined if it is not the piece that begins at `start`. */
function endOfPiece(
  { body, start: first, end: last, head, tail }: DeltaText,
  start: number,
  emitted: EmittedList,
  position: number,
): number | undefined {
  const end = start + emitted.charsAt(position) - (head.length + tail.length - END_CHARS)
  if (start < first || end <= start || end > last) return undefined
  return emitted.isAt(position, digestOfBody(head + body.slice(start, end) + tail)) ? end : undefined
}

/** The delta without the text before `start`; undefined if nothing is left. */
function textAfter({ type, actor }: EncodedEvent, text: DeltaText, start: number): EncodedEvent | undefined {
  if (start === text.end) return undefined
  return new EncodedEvent(type, text.head + text.body.slice(start), actor)
}

/** Maximum logged events, and characters of them, that are compared with a snapshot: some milliseconds. */
const EVENTS_MAX = 100_000
const CHARS_MAX = 8 * 1024 * 1024

/**
 * The part of a snapshot that is not logged, in any order: a snapshot has texts one after the other that were logged interleaved.
 * Undefined if the log has an event that the snapshot lacks, or if the comparison would take too long.
 */
export function unloggedInAnyOrder(
  events: readonly EncodedEvent[],
  emitted: EmittedList,
  from: number,
): readonly EncodedEvent[] | undefined {
  if (emitted.length - from > EVENTS_MAX) return undefined
  let unclaimed = Array.from({ length: emitted.length - from }, (_, at) => from + at)
  let chars = 0
  const rest: EncodedEvent[] = []
  for (const event of events) {
    const text = deltaText(event)
    const more = text === undefined ? claimEvent(event) : claimPieces(event, text)
    if (more !== undefined) rest.push(more)
    const ending = endOfText(event)
    if (ending !== undefined) claimEvent(ending)
  }
  return unclaimed.length === 0 ? rest : undefined

  function claimEvent(event: EncodedEvent): EncodedEvent | undefined {
    const digest = digestOfBody(event.body)
    const at = unclaimed.findIndex((position) => emitted.isAt(position, digest))
    if (at < 0) return event
    unclaimed.splice(at, 1)
    return undefined
  }

  function claimPieces(event: EncodedEvent, text: DeltaText): EncodedEvent | undefined {
    let start = text.start
    unclaimed = unclaimed.filter((position) => {
      chars += emitted.charsAt(position)
      const end = chars > CHARS_MAX ? undefined : endOfPiece(text, start, emitted, position)
      start = end ?? start
      return end === undefined
    })
    return textAfter(event, text, start)
  }
}

/** The end event of the text that a delta belongs to, as logged: a snapshot of an upstream does not mark complete texts. */
export function endOfText({ type, body, actor }: EncodedEvent): EncodedEvent | undefined {
  const { data } = eventOf(body)
  const message = (data as { readonly message?: unknown }).message
  if (type !== 'text.delta' || message === undefined) return undefined
  const end = body.slice(0, body.indexOf('"data":{')).replace(type, 'text.completed')
  return new EncodedEvent('text.completed', `${end}"data":{"message":${JSON.stringify(message)}}}\n\n`, actor)
}

/** A delta, with the position of its text in its body, as JSON without quotes. */
interface DeltaText {
  readonly body: string
  readonly start: number
  readonly end: number
  /** The body before and after the text. */
  readonly head: string
  readonly tail: string
}

/** Undefined if the event is no delta of a text. */
function deltaText({ type, body }: EncodedEvent): DeltaText | undefined {
  if (type !== 'text.delta' && type !== 'reasoning.delta') return undefined
  const field = body.indexOf('"text":"', body.indexOf('"data":{'))
  if (field < 0) return undefined
  const start = field + '"text":"'.length
  let end = start
  while (body[end] !== '"') end += body[end] === '\\' ? 2 : 1
  return { body, start, end, head: body.slice(0, start), tail: body.slice(end) }
}
