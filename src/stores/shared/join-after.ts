/** Joins stored pieces of a log into one slice. */
import { type HoldfastError, storeUnavailable } from '../../core/model/errors.ts'
import { lastOf, type Slice, sliceAfter } from '../../core/model/slice.ts'

/**
 * Joins neighbouring slices from the record after `after` on. Takes whole slices up to `maxBytes`, so that none has to be
 * searched. `allocate` may provide the memory of the result.
 */
export function joinAfter(
  slices: readonly Slice[],
  after: number,
  maxBytes: number,
  allocate?: (bytes: number) => Uint8Array | undefined,
): Slice {
  const position = slices.findLastIndex((slice) => slice.first <= after + 1)
  if (position < 0) throw gapError(after + 1, slices[0]?.first)
  const head = sliceAfter(slices[position]!, after)
  const parts = [head.bytes]
  let { count } = head
  let bytes = head.bytes.length
  let next = lastOf(head) + 1
  for (const slice of slices.slice(position + 1)) {
    if (bytes + slice.bytes.length > maxBytes) break
    bytes += slice.bytes.length
    if (slice.first !== next) throw gapError(next, slice.first)
    next += slice.count
    parts.push(slice.bytes)
    count += slice.count
  }
  const memory = allocate?.(bytes)
  const joined = memory === undefined ? concat(parts) : fill(memory, parts)
  return { first: head.first, count, bytes: joined, closed: false }
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
}

function fill(memory: Uint8Array, parts: readonly Uint8Array[]): Uint8Array {
  let at = 0
  for (const part of parts) {
    memory.set(part, at)
    at += part.length
  }
  return memory
}

function gapError(expected: number, found: number | undefined): HoldfastError {
  const message = `the log has a hole: event ${expected} follows, and the store returned ${found ?? 'nothing'}`
  return storeUnavailable(message, { retryAfterMs: 1000 })
}
