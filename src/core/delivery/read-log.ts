/**
 * Reads a log and checks what the store returns: it must be the records after the cursor, of the requested run. A faulty store (a diverged
 * replica, a wrong index) then costs one run an error, and never shows events of another run.
 */
import { storeUnavailable } from '../model/errors.ts'
import { lastOf, type Slice } from '../model/slice.ts'
import type { Store } from '../ports/store.ts'

/** Reads a log. All reads of logs go through this function. */
export async function readCheckedLog(
  store: Store,
  run: string,
  after: number,
  maxBytes: number,
): Promise<Slice | undefined> {
  const slice = await store.read(run, after, maxBytes)
  if (slice === undefined) return undefined
  const fault = sliceFault(run, after, slice)
  if (fault === undefined) return slice
  throw storeUnavailable(`run ${run}: the ${store.name} store returned invalid records: ${fault}`, {
    retryAfterMs: 1000,
  })
}

/**
 * Why a slice is not the one after an index; undefined if it is. Checks only the first and the last record, so that the cost does
 * not depend on the length.
 */
export function sliceFault(run: string, after: number, slice: Slice): string | undefined {
  const { first, count, bytes } = slice
  if (first !== after + 1) return `expected event ${after + 1}, found event ${first}`
  if (!(count >= 1)) return `event ${first} is missing`
  const names = namesOf(run)
  if (afterNames(bytes, 0, first, names) < 0) return `event ${first} belongs to another run or index`
  const last = bytes.lastIndexOf(NEWLINE, bytes.length - 3) + 1
  return afterNumber(bytes, afterPattern(bytes, last, names), lastOf(slice)) < 0
    ? `event ${lastOf(slice)} belongs to another run or index`
    : undefined
}

/** Like `sliceFault`, but checks every record: each must name its run and its index, and the count must match. */
export function faultIn(run: string, { first, count, bytes }: Slice): string | undefined {
  if (!(count >= 1)) return `event ${first} is missing`
  const names = namesOf(run)
  let at = 0
  for (let index = first; index < first + count; index++) {
    at = endOfRecord(bytes, at, index, names)
    if (at < 0) return `event ${index} belongs to another run or index`
  }
  return at === bytes.length ? undefined : `there are bytes after event ${first + count - 1}, the last one`
}

const encoder = new TextEncoder()
const ID = encoder.encode('id: ')
const EVENT = encoder.encode('event: ')
const [NEWLINE, COMMA, ZERO] = [10, 44, 48]

function namesOf(run: string): Uint8Array {
  return encoder.encode(`data: {"run":"${run}","index":`)
}

/** The end of the record at a position; -1 unless it has this index and belongs to the run that `names` starts with. */
function endOfRecord(bytes: Uint8Array, start: number, index: number, names: Uint8Array): number {
  const at = afterNames(bytes, start, index, names)
  const end = at < 0 ? -1 : bytes.indexOf(NEWLINE, at)
  return end >= 0 && bytes[end + 1] === NEWLINE ? end + 2 : -1
}

/** The position after a record's `id`, `event`, run and index; -1 if they do not match. */
function afterNames(bytes: Uint8Array, start: number, index: number, names: Uint8Array): number {
  const id = afterNumber(bytes, afterPattern(bytes, start, ID), index)
  const event = id >= 0 && bytes[id] === NEWLINE ? afterPattern(bytes, id + 1, EVENT) : -1
  const line = event < 0 ? -1 : bytes.indexOf(NEWLINE, event)
  const at = line < 0 ? -1 : afterNumber(bytes, afterPattern(bytes, line + 1, names), index)
  return at >= 0 && bytes[at] === COMMA ? at : -1
}

/** -1 if the pattern is not at this position, or the position is negative. */
function afterPattern(bytes: Uint8Array, at: number, pattern: Uint8Array): number {
  if (at < 0) return -1
  for (let offset = 0; offset < pattern.length; offset++) if (bytes[at + offset] !== pattern[offset]) return -1
  return at + pattern.length
}

/** The position after a number in decimal digits. */
function afterNumber(bytes: Uint8Array, at: number, expected: number): number {
  if (at < 0) return -1
  let value = 0
  let end = at
  for (; bytes[end]! >= ZERO && bytes[end]! <= ZERO + 9; end++) value = value * 10 + (bytes[end]! - ZERO)
  return end > at && value === expected ? end : -1
}
