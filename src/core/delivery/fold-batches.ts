/**
 * Splits a slice for folds that need no frames. Most records of a long log are texts: these are cut out of the decoded bytes without
 * creating an object for each, and folded many at a time.
 */
import type { LoggedEvent } from '../model/event.ts'
import { assertCount, decodedParts, ENVELOPE, ISO_CHARS, parseEnvelope, type Slice } from '../model/slice.ts'
import type { Projection, TextStretch } from '../ports/projection.ts'
import { retainedBytes } from './retained-bytes.ts'
import { oncePerTick } from './tick-memo.ts'

/** Consecutive events of a log. */
export interface FoldItems {
  readonly items: readonly (LoggedEvent | TextStretch)[]
  /** Estimated memory that a view needs for them. */
  readonly bytes: number
}

/** Consecutive records of a log. */
export interface FoldBatch extends FoldItems {
  /** Index of the last record. */
  readonly last: number
  /** Envelope of the last record. */
  readonly envelope: string
}

/** Receives the frames of a fold. */
export interface FrameSink<Frame> {
  /** Adds the frames of one event. */
  add(frames: readonly Frame[], log: number): void
  /** Adds one frame for each of consecutive texts. */
  addEach(frames: readonly Frame[], first: number): void
}

/** `sink`: receives the frames. Default: frames are not built. */
export function foldBatch<State, Frame>(
  projection: Projection<State, Frame>,
  state: State,
  { items }: FoldItems,
  sink?: FrameSink<Frame>,
): State {
  let folded = state
  for (const item of items)
    folded = 'texts' in item ? foldTexts(projection, folded, item, sink) : foldEvent(projection, folded, item, sink)
  return folded
}

function foldEvent<State, Frame>(
  projection: Projection<State, Frame>,
  state: State,
  event: LoggedEvent,
  sink: FrameSink<Frame> | undefined,
): State {
  const { state: after, frames } = projection.apply(state, event)
  sink?.add(frames, event.index)
  return after
}

/** The first text may start an entry that the others continue, such as a message. */
const TRIES_MAX = 2

function foldTexts<State, Frame>(
  projection: Projection<State, Frame>,
  state: State,
  stretch: TextStretch,
  sink: FrameSink<Frame> | undefined,
): State {
  let folded = state
  for (let at = 0; at < stretch.texts.length; at++) {
    const rest = at < TRIES_MAX ? stretchFrom(stretch, at) : undefined
    const together = rest && projection.applyTexts?.(folded, rest)
    if (together !== undefined) {
      sink?.addEach(together.frames(), stretch.first + at)
      return together.state
    }
    folded = foldEvent(projection, folded, textEvent(stretch, at), sink)
  }
  return folded
}

function stretchFrom(stretch: TextStretch, at: number): TextStretch {
  if (at === 0) return stretch
  const { first, texts, jsons, times } = stretch
  return { ...stretch, first: first + at, texts: texts.slice(at), jsons: jsons.slice(at), times: times.slice(at) }
}

function textEvent({ run, first, texts, times, message }: TextStretch, at: number): LoggedEvent {
  const text = texts[at]!
  const data = message === undefined ? { text } : { text, message }
  return { run, index: first + at, time: times[at]!, type: 'text.delta', data }
}

/** All records of a slice, for the views of all protocols. */
export function itemsOf(slice: Slice, run: string): FoldItems {
  return oncePerTick(slice, itemsOf, () => readItems(slice, run))
}

function readItems(slice: Slice, run: string): FoldItems {
  const batch = new BatchDraft(run)
  let index = slice.first
  for (const { text, isAscii } of decodedParts(slice)) {
    const records = new PartReader(text, run)
    batch.isAscii = isAscii
    while (records.hasMore) records.readInto(batch, index++)
  }
  assertCount(slice, index - slice.first)
  return batch
}

/** Yields the records of a slice in batches of at most `atOnce`. */
export function* batchesOf(slice: Slice, run: string, atOnce: number): Generator<FoldBatch, void, void> {
  let index = slice.first
  for (const { text, isAscii } of decodedParts(slice)) {
    const records = new PartReader(text, run)
    while (records.hasMore) {
      const batch = new BatchDraft(run)
      batch.isAscii = isAscii
      for (let count = 0; count < atOnce && records.hasMore; count++) records.readInto(batch, index++)
      yield { items: batch.items, bytes: batch.bytes, last: index - 1, envelope: records.lastEnvelope }
    }
  }
  assertCount(slice, index - slice.first)
}

interface StretchDraft extends TextStretch {
  readonly texts: string[]
  readonly jsons: string[]
  readonly times: string[]
}

class BatchDraft implements FoldItems {
  readonly items: (LoggedEvent | TextStretch)[] = []
  bytes = 0
  /** Whether every character of the next text takes one byte. */
  isAscii = false
  readonly #run: string
  #stretch: StretchDraft | undefined

  constructor(run: string) {
    this.#run = run
  }

  /** `chars`: of its envelope. */
  addText(index: number, chars: number, time: string, json: string, text: string, message: string | undefined): void {
    this.bytes += this.isAscii ? chars : 2 * chars
    if (this.#stretch === undefined || this.#stretch.message !== message) {
      this.#stretch = { run: this.#run, first: index, texts: [], jsons: [], times: [], message }
      this.items.push(this.#stretch)
    }
    this.#stretch.texts.push(text)
    this.#stretch.jsons.push(json)
    this.#stretch.times.push(time)
  }

  addEvent(event: LoggedEvent, chars: number): void {
    this.bytes += retainedBytes(event, chars, this.isAscii)
    this.#stretch = undefined
    this.items.push(event)
  }
}

const TEXT_EVENT = '\nevent: text.delta\ndata: '
const TEXT_BODY = '"type":"text.delta","data":{"text":"'
const MESSAGE = '","message":"'
const END = '"}}\n\n'
const BACKSLASH = 92
/** Escapes of characters that `JSON.stringify` writes differently. */
const OTHER_ESCAPE = /\\[u/]/

/** Reads the records of a decoded part in order. */
class PartReader {
  readonly #text: string
  readonly #run: string
  /** Characters of a text's envelope before its time, without the digits of its index. */
  readonly #timeAt: number
  #at = 0
  #envelopeAt = 0
  /** Offset of the next backslash, which starts an escape. */
  #escape = -1

  constructor(text: string, run: string) {
    this.#text = text
    this.#run = run
    this.#timeAt = '{"run":"","index":,"time":"'.length + run.length
  }

  get hasMore(): boolean {
    return this.#at < this.#text.length
  }

  get lastEnvelope(): string {
    return this.#text.slice(this.#envelopeAt, this.#at - 2)
  }

  readInto(batch: BatchDraft, index: number): void {
    const text = this.#text
    const digits = String(index).length
    const eventAt = this.#at + 'id: '.length + digits
    if (text.startsWith(TEXT_EVENT, eventAt) && this.#readText(batch, index, eventAt + TEXT_EVENT.length, digits))
      return
    const start = text.indexOf(ENVELOPE, this.#at) + ENVELOPE.length
    const end = text.indexOf('\n\n', start)
    batch.addEvent(parseEnvelope(text.slice(start, end), this.#run, index), end - start)
    this.#envelopeAt = start
    this.#at = end + 2
  }

  /** False if the record is not a text of the run itself: it has an actor, or its text is empty. */
  #readText(batch: BatchDraft, index: number, start: number, digits: number): boolean {
    const text = this.#text
    const timeAt = start + this.#timeAt + digits
    const bodyAt = timeAt + ISO_CHARS + '",'.length
    if (!text.startsWith(TEXT_BODY, bodyAt)) return false
    const textAt = bodyAt + TEXT_BODY.length
    const textEnd = this.#endOfString(textAt)
    if (textEnd === textAt) return false
    const json = this.#json(textAt, textEnd)
    const added = this.#string(textAt, textEnd)
    const hasMessage = text.startsWith(MESSAGE, textEnd)
    const messageAt = textEnd + MESSAGE.length
    const end = hasMessage ? this.#endOfString(messageAt) : textEnd
    if (!text.startsWith(END, end)) return false
    const after = end + END.length
    const time = text.slice(timeAt, timeAt + ISO_CHARS)
    const message = hasMessage ? this.#string(messageAt, end) : undefined
    batch.addText(index, after - 2 - start, time, json, added, message)
    this.#envelopeAt = start
    this.#at = after
    return true
  }

  /** The end of the JSON string whose first character is at an offset. */
  #endOfString(start: number): number {
    let end = this.#text.indexOf('"', start)
    while (this.#hasEscape(start, end) && this.#isEscaped(end)) end = this.#text.indexOf('"', end + 1)
    return end
  }

  /** Whether an odd number of backslashes precedes a character. */
  #isEscaped(at: number): boolean {
    let first = at
    while (this.#text.charCodeAt(first - 1) === BACKSLASH) first--
    return (at - first) % 2 === 1
  }

  #string(start: number, end: number): string {
    if (!this.#hasEscape(start, end)) return this.#text.slice(start, end)
    return JSON.parse(this.#text.slice(start - 1, end + 1)) as string
  }

  /** The string as `JSON.stringify` writes it. An imported log may be written differently, such as `\/` for a slash. */
  #json(start: number, end: number): string {
    const json = this.#text.slice(start - 1, end + 1)
    return this.#hasEscape(start, end) && OTHER_ESCAPE.test(json) ? JSON.stringify(JSON.parse(json)) : json
  }

  /** Looks for the next backslash once, however many strings lie before it: `from` never decreases. */
  #hasEscape(from: number, to: number): boolean {
    if (this.#escape < from) {
      const found = this.#text.indexOf('\\', from)
      this.#escape = found < 0 ? Infinity : found
    }
    return this.#escape < to
  }
}
