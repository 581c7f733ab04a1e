/** The readable at a path: a client-written stream, or the log of a run, whose records are its messages. */
import type { LoggedEvent } from '../../../core/model/event.ts'
import { lastOf, type RawRecord, rawRecords, type Slice } from '../../../core/model/slice.ts'
import { isFinished } from '../../../core/model/run.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import type { KnownStream, StreamConfig } from '../requests/streams.ts'
import type { Content } from '../wire/content.ts'
import { appendedIn, FIRST_APPEND } from './stream-state.ts'

export interface Readable {
  readonly stored: StoredRun
  readonly contentType: string
  readonly isClosed: boolean
  /** Index of the next record with a message. */
  readonly tail: number
  readonly config?: StreamConfig
  readonly contentOf: (record: RawRecord) => Content | undefined
}

export function readableStream({ stored, config, isClosed, tail }: KnownStream): Readable {
  return { stored, contentType: config.contentType, isClosed, tail, config, contentOf: contentOfAppend }
}

export function readableRun(stored: StoredRun): Readable {
  const isClosed = isFinished(stored.run.status)
  return { stored, contentType: 'application/json', isClosed, tail: stored.next, contentOf: contentOfRecord }
}

function contentOfAppend({ type, envelope }: RawRecord): Content | undefined {
  return type === 'custom.emitted' ? appendedIn(JSON.parse(envelope) as LoggedEvent)?.content : undefined
}

function contentOfRecord({ envelope }: RawRecord): Content {
  return { json: [envelope] }
}

interface Piece {
  readonly content: Content | undefined
  /** Index of the record after it. */
  readonly next: number
}

export interface Pieces {
  readonly pieces: readonly Piece[]
  /** Index of the next record. The records that end a stream are not messages. */
  readonly next: number
  /** Whether the slice ends with the end of the log. */
  readonly isEnd: boolean
}

export function piecesOf(slice: Slice, { contentOf, config }: Readable): Pieces {
  const pieces = rawRecords(slice).map((record) => ({ content: contentOf(record), next: record.index + 1 }))
  const isEnd = slice.closed
  const end = lastOf(slice) + 1
  if (!isEnd || config === undefined) return { pieces, isEnd, next: end }
  const last = pieces.findLast(({ content }) => content !== undefined)
  return { pieces, isEnd, next: last?.next ?? Math.max(slice.first, FIRST_APPEND) }
}
