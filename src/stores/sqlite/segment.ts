/** How a log is cut into segments. */
import { type Slice, sliceWithin } from '../../core/record.ts'

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
