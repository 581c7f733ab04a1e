/** Slices: consecutive records of a log as stored, cut, marked and parsed without decoding more than needed. */
import { assert } from './errors.ts'
import type { EventData, EventType, LoggedEvent } from './event.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const NEWLINE = 10

/** Consecutive records of a run's log, as stored. */
export interface Slice {
  /** Index of the first record. */
  readonly first: number
  /** Number of records. */
  readonly count: number
  readonly bytes: Uint8Array
  /** The last record is the run's terminal event. */
  readonly closed: boolean
  /**
   * Returns the memory of `bytes` to the store for reuse. Optional. Only the reader of the slice may call it, and only when nothing
   * uses `bytes` any more.
   */
  readonly release?: () => void
}

/** Index of the last record of a slice. */
export function lastOf(slice: Slice): number {
  return slice.first + slice.count - 1
}

/** A slice of a log from its records. `closed`: the last one ends the run. */
export function sliceOf(first: number, records: readonly string[], closed: boolean): Slice {
  return { first, count: records.length, bytes: encoder.encode(records.join('')), closed }
}

const marks = new WeakMap<Slice, string>()

/** Bytes at the start and at the end of a record's data that its mark depends on. The start contains the time. */
const MARKED_BYTES_MAX = 1024

/** Identifies the last record of a slice, to detect that another record took its index. Computed once per slice. */
export function lastMark(slice: Slice): string {
  let mark = marks.get(slice)
  if (mark === undefined) {
    const { bytes } = slice
    mark = markFrom(bytes, bytes.lastIndexOf(NEWLINE, bytes.length - 3) + 1)
    marks.set(slice, mark)
  }
  return mark
}

/** The mark of a record, by its envelope. */
export function markOf(envelope: string): string {
  return markFrom(encoder.encode(`data: ${envelope}\n\n`), 0)
}

/** `start`: start of the record's last line, which contains its data. */
function markFrom(bytes: Uint8Array, start: number): string {
  const end = Math.min(start + MARKED_BYTES_MAX, bytes.length)
  const rest = Math.max(end, bytes.length - MARKED_BYTES_MAX)
  return `${bytes.length - start}.${hashOf(bytes, rest, bytes.length, hashOf(bytes, start, end)) >>> 0}`
}

/** FNV-1a. */
function hashOf(bytes: Uint8Array, start: number, end: number, seed = 0x811c9dc5): number {
  let hash = seed
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193)
  return hash
}

/** The records of a slice that come after an index. */
export function sliceAfter(slice: Slice, after: number): Slice {
  if (after < slice.first) return slice
  if (after >= lastOf(slice)) return { ...slice, first: after + 1, count: 0, bytes: slice.bytes.subarray(0, 0) }
  const start = startOf(slice, after + 1)
  return {
    first: after + 1,
    count: slice.count - (after + 1 - slice.first),
    bytes: slice.bytes.subarray(start),
    closed: slice.closed,
  }
}

/** The records of a slice that come before an index. */
export function sliceBefore(slice: Slice, before: number): Slice {
  if (before > lastOf(slice)) return slice
  if (before <= slice.first) return { ...slice, count: 0, bytes: slice.bytes.subarray(0, 0), closed: false }
  return {
    first: slice.first,
    count: before - slice.first,
    bytes: slice.bytes.subarray(0, startOf(slice, before)),
    closed: false,
  }
}

/** The longest prefix of a slice within a number of bytes, at least one record. */
export function sliceWithin(slice: Slice, maxBytes: number): Slice {
  if (slice.bytes.length <= maxBytes) return slice
  const boundary = lastBoundary(slice.bytes, maxBytes)
  const before = boundary < 0 ? slice.first + 1 : indexAt(slice.bytes, boundary)
  return sliceBefore(slice, before)
}

const RECORD_BOUNDARY = encoder.encode('\n\nid: ')

/** Start of the last record such that the whole records before it have at most `maxBytes` bytes; -1 if there is none. */
function lastBoundary(bytes: Uint8Array, maxBytes: number): number {
  search: for (let at = maxBytes - 2; at >= 0; at--) {
    if (bytes[at] !== 10) continue
    for (let offset = 1; offset < RECORD_BOUNDARY.length; offset++)
      if (bytes[at + offset] !== RECORD_BOUNDARY[offset]) continue search
    return at + 2
  }
  return -1
}

/** Index of the record that starts at an offset. */
function indexAt(bytes: Uint8Array, start: number): number {
  const digits = start + RECORD_BOUNDARY.length - 2
  return Number(decoder.decode(bytes.subarray(digits, bytes.indexOf(10, digits))))
}

/** The start of a record other than the first. Searches from the nearer end. */
function startOf(slice: Slice, index: number): number {
  const pattern = encoder.encode(`\n\nid: ${index}\n`)
  const isNearEnd = index - slice.first > slice.count / 2
  const start = isNearEnd ? lastIndexOfBytes(slice.bytes, pattern) : indexOfBytes(slice.bytes, pattern)
  assert(start >= 0, `record ${index} is in the slice from ${slice.first} to ${lastOf(slice)}`)
  return start + 2
}

/** A record split into its parts, with its data as text. */
export interface RawRecord {
  readonly index: number
  readonly type: EventType
  /** The envelope: the text after `data: `. */
  readonly envelope: string
}

export function rawRecords(slice: Slice): RawRecord[] {
  const records: RawRecord[] = []
  for (const text of decoder.decode(slice.bytes).split('\n\n')) {
    if (text === '') continue
    const typeAt = text.indexOf('\nevent: ') + 8
    const dataAt = text.indexOf('\ndata: ', typeAt)
    records.push({
      index: slice.first + records.length,
      type: text.slice(typeAt, dataAt) as EventType,
      envelope: text.slice(dataAt + 7),
    })
  }
  assertCount(slice, records.length)
  return records
}

/** Joins a split record. */
export function recordText({ index, type, envelope }: RawRecord): string {
  return `id: ${index}\nevent: ${type}\ndata: ${envelope}\n\n`
}

export function events(slice: Slice): LoggedEvent[] {
  return rawRecords(slice).map((record) => JSON.parse(record.envelope) as LoggedEvent)
}

/** A record of a slice. Its event is parsed once, on first use. */
export class SliceRecord {
  /** The envelope, as JSON. */
  readonly text: string
  /** Whether every character of the slice takes one byte. */
  readonly isAscii: boolean
  readonly #run: string
  readonly #index: number
  #event: LoggedEvent | undefined

  constructor(run: string, { index, envelope, isAscii }: EnvelopeRecord) {
    this.text = envelope
    this.isAscii = isAscii
    this.#run = run
    this.#index = index
  }

  get event(): LoggedEvent {
    return (this.#event ??= parseEnvelope(this.text, this.#run, this.#index))
  }
}

const TEXT_RECORD = '"type":"text.delta",'
const DATA = '"data":'

/** A record with its envelope, for folds. */
export interface EnvelopeRecord {
  readonly index: number
  readonly envelope: string
  /** Whether every character of the slice takes one byte. */
  readonly isAscii: boolean
}

export const ENVELOPE = '\ndata: '

/**
 * Bytes decoded at a time. A substring keeps its whole string in memory, so a reader that keeps the text of one record should keep
 * only few others alive.
 */
const DECODED_BYTES = 8 * 1024

/** Like `rawRecords`, without the types: a fold reads them from the envelope. */
export function envelopeRecords(slice: Slice): EnvelopeRecord[] {
  const records: EnvelopeRecord[] = []
  for (const { text, isAscii } of decodedParts(slice)) {
    for (let at = 0; at < text.length;) {
      const start = text.indexOf(ENVELOPE, at) + ENVELOPE.length
      const end = text.indexOf('\n\n', start)
      records.push({ index: slice.first + records.length, envelope: text.slice(start, end), isAscii })
      at = end + 2
    }
  }
  assertCount(slice, records.length)
  return records
}

export function assertCount({ count }: Slice, found: number): void {
  assert(found === count, `a slice of ${count} records holds ${found}`)
}

interface DecodedPart {
  /** Whole records. */
  readonly text: string
  readonly isAscii: boolean
}

/** Decodes a slice in parts of a few records. */
export function* decodedParts({ bytes }: Slice): Generator<DecodedPart, void, void> {
  for (let begin = 0; begin < bytes.length;) {
    const after = endOfRecord(bytes, Math.min(begin + DECODED_BYTES, bytes.length) - 1)
    const text = decoder.decode(bytes.subarray(begin, after))
    yield { text, isAscii: text.length === after - begin }
    begin = after
  }
}

/** The end of the record that contains the byte at an offset. */
function endOfRecord(bytes: Uint8Array, offset: number): number {
  // The offset may be at the second of the two bytes that end a record.
  let at = bytes.indexOf(NEWLINE, Math.max(0, offset - 1))
  while (at >= 0 && bytes[at + 1] !== NEWLINE) at = bytes.indexOf(NEWLINE, at + 1)
  return at < 0 ? bytes.length : at + 2
}

/** Parses an envelope. Most records are texts: their prefix is known, and most need no unescaping. */
export function parseEnvelope(envelope: string, run: string, index: number): LoggedEvent {
  const timeAt = `{"run":"${run}","index":${index},"time":"`.length
  const bodyAt = timeAt + ISO_CHARS + '",'.length
  if (!envelope.startsWith(TEXT_RECORD + DATA, bodyAt)) return JSON.parse(envelope) as LoggedEvent
  const time = envelope.slice(timeAt, timeAt + ISO_CHARS)
  return { run, index, time, type: 'text.delta', data: textData(envelope, bodyAt + TEXT_RECORD.length + DATA.length) }
}

const TEXT_FIELD = '{"text":"'

function textData(envelope: string, dataAt: number): EventData['text.delta'] {
  const textAt = dataAt + TEXT_FIELD.length
  const end = envelope.length - '"}}'.length
  // The first quote ends the text, so nothing in it is escaped.
  const isPlain =
    envelope.startsWith(TEXT_FIELD, dataAt) && envelope.indexOf('"', textAt) === end && !envelope.includes('\\', textAt)
  if (isPlain) return { text: envelope.slice(textAt, end) }
  return JSON.parse(envelope.slice(dataAt, -1)) as EventData['text.delta']
}

/** `2026-01-01T00:00:00.000Z` */
export const ISO_CHARS = 24

const parsed = new WeakMap<Slice, readonly SliceRecord[]>()

/** The records of a slice, shared by all readers of the slice. */
export function recordsOf(slice: Slice): readonly SliceRecord[] {
  let known = parsed.get(slice)
  if (known === undefined) {
    const records = envelopeRecords(slice)
    const run = runOf(records[0]?.envelope ?? '')
    parsed.set(slice, (known = records.map((record) => new SliceRecord(run, record))))
  }
  return known
}

/** The run's id, with which each envelope begins. */
function runOf(envelope: string): string {
  const start = '{"run":"'.length
  return envelope.slice(start, envelope.indexOf('"', start))
}

function indexOfBytes(bytes: Uint8Array, pattern: Uint8Array): number {
  search: for (let start = bytes.indexOf(pattern[0]!); start >= 0; start = bytes.indexOf(pattern[0]!, start + 1)) {
    for (let offset = 1; offset < pattern.length; offset++)
      if (bytes[start + offset] !== pattern[offset]) continue search
    return start
  }
  return -1
}

function lastIndexOfBytes(bytes: Uint8Array, pattern: Uint8Array): number {
  search: for (
    let start = bytes.lastIndexOf(pattern[0]!);
    start >= 0;
    start = start === 0 ? -1 : bytes.lastIndexOf(pattern[0]!, start - 1)
  ) {
    for (let offset = 1; offset < pattern.length; offset++)
      if (bytes[start + offset] !== pattern[offset]) continue search
    return start
  }
  return -1
}
