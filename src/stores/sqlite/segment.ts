/** How a log is cut into segments, and what a row of them holds. */
import { type Slice, sliceWithin } from '../../core/model/record.ts'
import { fits, recordsChecksum } from './checksum.ts'

/** Records that make a segment worth writing: replay wants many, reading a short tail wants few. */
export const SEGMENT_RECORDS = 64
/** Bytes of a segment at most, unless one record is larger: a reader loads the whole of it for any record in it. */
export const SEGMENT_BYTES = 64 * 1024

/** The first segment of some records. */
export function firstSegment(records: Slice): Slice {
  return sliceWithin(records, SEGMENT_BYTES)
}

/** Some records as segments. */
export function* segmentsOf(records: Slice): Generator<Slice> {
  for (let rest = records; rest.count > 0;) {
    const segment = firstSegment(rest)
    yield segment
    rest = {
      first: rest.first + segment.count,
      count: rest.count - segment.count,
      bytes: rest.bytes.subarray(segment.bytes.length),
      closed: rest.closed,
    }
  }
}

/** A segment as the file has it. */
export interface StoredSegment {
  readonly first: number
  readonly count: number
  readonly bytes: Uint8Array
  /** It is what was written, as far as its checksum says. */
  readonly isSound: boolean
  /** Older versions wrote none. */
  readonly hasChecksum: boolean
}

/** A row of `segments`, all columns. */
export function segmentIn(row: Record<string, unknown>): StoredSegment {
  const { run, first, count } = row as Readonly<Record<'run' | 'first' | 'count', number>>
  const bytes = row['data'] as Uint8Array
  return {
    first,
    count,
    bytes,
    isSound: isBytes(bytes) && fits(row['crc'], () => recordsChecksum(run, first, count, bytes)),
    hasChecksum: row['crc'] !== null,
  }
}

/** A damaged row may hold anything in a column. */
function isBytes(value: unknown): boolean {
  return value instanceof Uint8Array
}
