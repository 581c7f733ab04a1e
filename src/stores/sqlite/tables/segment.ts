/** Splits logs into segments, and decodes their rows. */
import { type Slice, sliceWithin } from '../../../core/model/slice.ts'
import { fits, recordsChecksum } from './checksum.ts'

/** Records per segment: replay benefits from many, reading a short tail from few. */
export const SEGMENT_RECORDS = 64
/** Maximum bytes of a segment, unless one record is larger: a reader loads all of it for any record. */
export const SEGMENT_BYTES = 64 * 1024

/** The first segment of some records. */
export function firstSegment(records: Slice): Slice {
  return sliceWithin(records, SEGMENT_BYTES)
}

/** Splits records into segments. */
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

/** A segment as stored. */
export interface StoredSegment {
  readonly first: number
  readonly count: number
  readonly bytes: Uint8Array
  /** The checksum matches. */
  readonly isSound: boolean
  /** Older versions wrote none. */
  readonly hasChecksum: boolean
}

/** Decodes a row of `segments`, all columns. */
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

/** A damaged row may have any type in a column. */
function isBytes(value: unknown): boolean {
  return value instanceof Uint8Array
}
