/** Digest of a run or document, independent of the store adapter. */
import { createHash } from 'node:crypto'
import { defaultLimits } from '../../core/model/limits.ts'
import { readCheckedLog } from '../../core/delivery/read-log.ts'
import type { TransferredRun } from '../../core/ports/store-transfer.ts'
import { lastOf, sliceBefore } from '../../core/model/slice.ts'
import type { Store } from '../../core/ports/store.ts'

/** Covers the run and the records that it counts; records beyond them are ignored. */
export async function digestOf(store: Store, { stored, idempotency }: TransferredRun): Promise<string> {
  const { run, first, next, epoch, stop } = stored
  const hash = createHash('sha256').update(canonical({ run, first, next, epoch, stop, idempotency }))
  for (let after = first - 1; after < next - 1;) {
    const slice = await readCheckedLog(store, run.id, after, defaultLimits.maxReadBytes)
    if (slice === undefined) throw new Error(`run ${run.id}: its log ends after ${after + 1} of ${next} records`)
    hash.update(sliceBefore(slice, next).bytes)
    after = lastOf(slice)
  }
  return hash.digest('hex')
}

/** JSON with sorted keys, because stores need not preserve their order. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
