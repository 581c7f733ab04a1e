/** Reads a page of a run's log from its segments and verifies it (STO-2). */
import { type Slice, sliceBefore, sliceWithin } from '../../../core/model/slice.ts'
import { isFinished } from '../../../core/model/run.ts'
import type { LogDamage } from '../../../core/ports/store.ts'
import { joinAfter } from '../../shared/join-after.ts'
import { damageIn, type Reader } from './reader.ts'
import type { NumberedRun } from '../tables/run-rows.ts'
import { isCorrupt } from '../file/sqlite-errors.ts'
import { UNREADABLE } from '../tables/quarantine.ts'

/** The facts about a run that a reader needs. */
export interface LogHead {
  readonly number: number
  readonly first: number
  /** Records from here on are not shown: a commit may be in the file before the store has announced it. */
  readonly next: number
  readonly isFinished: boolean
  readonly damage?: LogDamage
  /** Its row is damaged, and that was not known before. */
  readonly isNewlyLost?: boolean
}

export interface PageRequest {
  readonly id: string
  readonly after: number
  readonly maxBytes: number
  /** The in-memory state, if there is one; otherwise the file decides. */
  readonly known: LogHead | undefined
}

export interface LogPage {
  /** Undefined if there is no such run. */
  readonly head: LogHead | undefined
  /** Undefined if there is nothing after the index. */
  readonly slice?: Slice
  /** Newly detected damage. `isLasting` is false if only an index may be damaged, which can be rebuilt. */
  readonly found?: { readonly damage: LogDamage; readonly isLasting: boolean }
}

/** Provides memory for the bytes of a page; undefined if they need memory of their own. */
export type Allocate = (bytes: number) => Uint8Array | undefined

export function readPage(reader: Reader, request: PageRequest, allocate?: Allocate): LogPage {
  const { id, after, maxBytes, known } = request
  const head = known ?? headIn(reader, id)
  if (head === undefined || head.damage !== undefined || after + 1 < head.first || after + 1 >= head.next)
    return { head }
  const read = segmentsFrom(reader, head, request, allocate)
  if ('slice' in read) return { head, slice: sliceWithin(sliceBefore(read.slice, head.next), maxBytes) }
  // A trim or removal may have reached the file since the run was read: records that it removed are not damaged.
  const now = headIn(reader, id)
  const isCurrent = now?.number === head.number && now.first <= after + 1
  return isCurrent ? { head, found: read } : { head: now }
}

type Read = { readonly slice: Slice } | { readonly damage: LogDamage; readonly isLasting: boolean }

function segmentsFrom(
  reader: Reader,
  { number, next }: LogHead,
  { id, after, maxBytes }: PageRequest,
  allocate: Allocate | undefined,
): Read {
  const from = after + 1
  try {
    const segments = reader.segments(number, from, maxBytes)
    const damage = damageIn(segments, id, from)
    if (damage !== undefined) return { damage, isLasting: true }
    const slices = segments.map((segment) => ({ ...segment, closed: false }))
    return { slice: joinAfter(slices, after, maxBytes, allocate) }
  } catch (cause) {
    if (!isCorrupt(cause)) throw cause
    const damage = { first: from, last: next - 1, reason: UNREADABLE }
    return { damage, isLasting: false }
  }
}

function headIn(reader: Reader, id: string): LogHead | undefined {
  const found = reader.runs.byId(id)
  return found && headOf(found)
}

export function headOf({ number, stored, isLost, isMarked }: Omit<NumberedRun, 'idempotency'>): LogHead {
  const { run, first, next, damage } = stored
  const isNewlyLost = isLost === true && isMarked !== true
  return {
    number,
    first,
    next,
    isFinished: isFinished(run.status),
    ...(damage !== undefined && { damage }),
    ...(isNewlyLost && { isNewlyLost }),
  }
}
