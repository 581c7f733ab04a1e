/** Stream formats of the log: server-sent events and NDJSON. */
import type { HoldfastError } from '../../../core/model/errors.ts'
import type { Limits } from '../../../core/model/limits.ts'
import { lastOf, type RawRecord, recordText, type Slice } from '../../../core/model/slice.ts'
import type { Notice, StreamFormat } from '../../../http/response/stream.ts'
import { encodeFrame, encodeRetry, HEARTBEAT } from '../../../sse/index.ts'
import { checkedCursorOf } from '../requests/checked-cursor.ts'
import type { EventFilter } from '../requests/event-filter.ts'
import { envelopes, lastRecord } from '../wire/responses.ts'

export interface LogFormat extends StreamFormat {
  records(records: readonly RawRecord[]): Uint8Array | string
  /** A frame that moves the client's cursor without an event. `cursor` has the checksum of its record. */
  moved(name: 'snapshot' | 'progress', cursor: string, data: string): string
}

/**
 * Records are stored as frames and sent unchanged. Frames that are not in the log have a name in `stream.`, and an id only if they
 * move the cursor.
 */
export function sseFormat(run: string, limits: Limits): LogFormat {
  return {
    contentType: 'text/event-stream; charset=utf-8',
    headers: { 'holdfast-run': run },
    preamble: encodeRetry(limits.retryDelayMs),
    heartbeat: HEARTBEAT,
    copiesRecords: true,
    encode: (slice) => slice.bytes,
    records: sharedFrames,
    moved: (name, cursor, data) => `id: ${cursor}\nevent: stream.${name}\ndata: ${data}\n\n`,
    notice: (notice) => encodeFrame({ event: `stream.${notice.kind}`, data: describe(run, notice, limits) }),
  }
}

const encoder = new TextEncoder()
const frames = new WeakMap<readonly RawRecord[], Uint8Array>()

/** Subscribers at the tail with the same filter share the bytes of their records. */
function sharedFrames(records: readonly RawRecord[]): Uint8Array {
  let encoded = frames.get(records)
  if (encoded === undefined) frames.set(records, (encoded = encoder.encode(records.map(recordText).join(''))))
  return encoded
}

/** Each line is an envelope, an empty heartbeat, or an object with `stream` that is not in the log. */
export function ndjsonFormat(run: string, limits: Limits): LogFormat {
  return {
    contentType: 'application/x-ndjson; charset=utf-8',
    headers: { 'holdfast-run': run },
    preamble: '\n',
    heartbeat: '\n',
    encode: (slice) => `${envelopes(slice).join('\n')}\n`,
    records: (records) => records.map(({ envelope }) => `${envelope}\n`).join(''),
    moved: (name, _cursor, data) => `{"stream":"${name}",${data.slice(1)}\n`,
    notice: (notice) => `${JSON.stringify({ stream: notice.kind, ...describe(run, notice, limits) })}\n`,
  }
}

/** Number of events without a match after which a progress frame is sent, so that a reconnecting client need not read them again. */
const PROGRESS_EVENTS = 1000

/** Streams some of the log's records. Cursors are those of the log, so a stream resumes without gaps or repeats. */
export function filteredFormat(run: string, format: LogFormat, filter: EventFilter): StreamFormat {
  /** The last record that was read, and the last index that the client knows. */
  let read: RawRecord | undefined
  let reported = -1
  const progress = (): string => {
    if (read === undefined || read.index <= reported) return ''
    reported = read.index
    return format.moved('progress', checkedCursorOf(read), progressData(run, read.index, checkedCursorOf(read)))
  }
  return {
    ...format,
    copiesRecords: false,
    encode(slice: Slice) {
      if (reported < 0) reported = slice.first - 1
      const records = filter.recordsOf(slice)
      read = lastRecord(slice)
      reported = records.at(-1)?.index ?? reported
      const isFar = lastOf(slice) - reported >= PROGRESS_EVENTS
      if (records.length === 0) return isFar ? progress() : ''
      const encoded = format.records(records)
      return isFar ? concatFrames(encoded, progress()) : encoded
    },
    progress: () => progress() || undefined,
    notice: (notice) => (notice.kind === 'closing' ? progress() : '') + format.notice(notice)!,
  }
}

function concatFrames(encoded: Uint8Array | string, rest: string): string {
  return (typeof encoded === 'string' ? encoded : new TextDecoder().decode(encoded)) + rest
}

/** `id`: the cursor with the checksum of its record, for a client that does not read ids. */
export function progressData(run: string, cursor: number, id: string): string {
  return JSON.stringify({ run, cursor, id })
}

function describe(run: string, notice: Notice, limits: Limits): object {
  switch (notice.kind) {
    case 'gap':
      return { run, earliest: notice.earliest, message: `events before ${notice.earliest} were trimmed` }
    case 'closing':
      return { run, reason: notice.reason, cursor: notice.cursor, retryMs: limits.retryDelayMs }
    case 'failed':
      return { run, ...failure(notice.error) }
  }
}

function failure({ code, message, retryable, details }: HoldfastError): object {
  return { code, message, retryable, ...(details !== undefined && { details }) }
}
