/**
 * Cursors that name the record they stand at: `41~cbf43926`, the index and the CRC-32 of that record's bytes. After a restored
 * backup or a failover that lost events, an index alone can point into another history.
 */
import { parseCursor } from '../../core/model/cursor.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import type { Principal } from '../../core/model/principal.ts'
import { sliceBefore } from '../../core/model/record.ts'
import type { Service } from '../../core/service.ts'
import type { StoredRun } from '../../core/ports/store.ts'
import { checksumOf } from '../../sse/checksum.ts'

export interface CheckedCursor {
  readonly index: number
  readonly checksum: string | undefined
}

export function parseCheckedCursor(text: string, run: string): CheckedCursor {
  const [, position = text, checksum] = /^(.*)~([0-9a-f]{8})$/s.exec(text) ?? []
  return { index: parseCursor(position, run), checksum }
}

/** Throws `log_changed` unless the log holds the record that the cursor stands at. What was trimmed cannot be compared. */
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
    `run ${stored.run.id}: event ${index} is not the one that this cursor stands at; the log was restored or lost events. Read it from the beginning`,
  )
}
