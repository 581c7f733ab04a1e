/**
 * Cursors with a checksum: `41~cbf43926`, the index and the CRC-32 of the record's bytes. After a restored backup or a lossy failover,
 * an index alone could point to a different event.
 */
import { parseCursor } from '../../../core/model/cursor.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Principal } from '../../../core/model/principal.ts'
import { type RawRecord, rawRecords, recordText, sliceBefore } from '../../../core/model/slice.ts'
import type { Service } from '../../../core/service.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import { checksumOf } from '../../../sse/checksum.ts'

export interface CheckedCursor {
  readonly index: number
  readonly checksum: string | undefined
}

export function parseCheckedCursor(text: string, run: string): CheckedCursor {
  const [, position = text, checksum] = /^(.*)~([0-9a-f]{8})$/s.exec(text) ?? []
  return { index: parseCursor(position, run), checksum }
}

/** The cursor after a record, with its checksum. */
export function checkedCursorOf(record: RawRecord): string {
  return `${record.index}~${checksumOf(new TextEncoder().encode(recordText(record)))}`
}

/** The cursor at an index of the log, with the checksum of its record if there is one. */
export async function checkedCursorAt(
  service: Service,
  principal: Principal,
  stored: StoredRun,
  index: number,
): Promise<string> {
  const slice = index < stored.first ? undefined : await service.read(principal, stored, index - 1, 1)
  return slice === undefined ? String(index) : checkedCursorOf(rawRecords(slice)[0]!)
}

/** Throws `log_changed` if the log's record does not match the cursor. Trimmed records are not checked. */
export async function assertSameLog(
  service: Service,
  principal: Principal,
  stored: StoredRun,
  { index, checksum }: CheckedCursor,
): Promise<void> {
  if (checksum === undefined || index < 0) return
  const { first, next } = stored
  if (index < first) return
  const slice = index < next ? await service.read(principal, stored, index - 1) : undefined
  if (slice !== undefined && checksumOf(sliceBefore(slice, index + 1).bytes) === checksum) return
  throw new HoldfastError(
    'log_changed',
    `run ${stored.run.id}: event ${index} is not the event that this cursor was issued for; the log was restored or lost events. Read it from the beginning`,
  )
}
