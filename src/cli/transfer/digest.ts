/** A number for all that a store keeps of a run, or for a document: the same in every store that keeps the same. */
import { createHash } from 'node:crypto'
import { defaultLimits } from '../../core/model/limits.ts'
import { readLog } from '../../core/delivery/read-log.ts'
import type { TransferredRun } from '../../core/ports/store-transfer.ts'
import { lastOf, sliceBefore } from '../../core/model/record.ts'
import type { Store } from '../../core/ports/store.ts'

/** Of a head and the records that it says are kept; what a store has beyond them does not count. */
export async function digestOf(store: Store, { stored, idempotency }: TransferredRun): Promise<string> {
  const { run, first, next, epoch, stop } = stored
  const hash = createHash('sha256').update(canonical({ run, first, next, epoch, stop, idempotency }))
  for (let after = first - 1; after < next - 1;) {
    const slice = await readLog(store, run.id, after, defaultLimits.readBytesMax)
    if (slice === undefined) throw new Error(`run ${run.id}: its log ends after ${after + 1} of ${next} records`)
    hash.update(sliceBefore(slice, next).bytes)
    after = lastOf(slice)
  }
  return hash.digest('hex')
}

/** JSON in which the order of keys does not matter: no store promises to keep it. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
