/** Stored pieces of a log as one slice. */
import { type Slice, sliceAfter } from '../../core/record.ts'

/** Neighbouring slices as one, from the record after an index on: whole ones, as many as fit, so that none has to be searched. */
export function joinAfter(slices: readonly Slice[], after: number, bytesMax: number): Slice {
  const position = slices.findLastIndex((slice) => slice.first <= after + 1)
  const head = sliceAfter(slices[position]!, after)
  const parts = [head.bytes]
  let { count } = head
  let bytes = head.bytes.length
  for (const slice of slices.slice(position + 1)) {
    bytes += slice.bytes.length
    if (bytes > bytesMax) break
    parts.push(slice.bytes)
    count += slice.count
  }
  return { first: head.first, count, bytes: parts.length === 1 ? parts[0]! : Buffer.concat(parts), closed: false }
}
