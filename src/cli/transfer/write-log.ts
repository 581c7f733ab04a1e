/** Writes a complete log into a store, as the worker that executed the run would have. */
import { defaultLimits } from '../../core/model/limits.ts'
import { readCheckedLog } from '../../core/delivery/read-log.ts'
import { rawRecords } from '../../core/model/slice.ts'
import type { Run } from '../../core/model/run.ts'
import type { Store } from '../../core/ports/store.ts'
import type { ReadLog } from './read-log.ts'

const CLAIM_MS = 60_000

/** `existing`: the store already has this log. Throws if it has a different one with the same id. */
export async function writeLog(store: Store, { run, records }: ReadLog): Promise<'imported' | 'existing'> {
  if ((await store.get(run.id)) !== undefined) {
    if (await isSame(store, run, records)) return 'existing'
    throw new Error(`the store has a different run ${run.id}, which is never overwritten`)
  }
  const claim = { worker: `import of ${run.id}`, ttlMs: CLAIM_MS }
  const { stored } = await store.create({ run: asIncomplete(run), record: records[0]!, claim })
  const writer = store.writer(run.id, { epoch: stored.epoch, next: 1 })
  for (const [index, record] of records.entries()) {
    if (index === 0) continue
    writer.append(record, index === records.length - 1 ? run : undefined)
    if (writer.pendingChars > defaultLimits.maxPendingChars) await writer.flush()
  }
  await writer.flush()
  return 'imported'
}

/** Paused until its end is written, so that no worker claims it if this process dies in between. */
function asIncomplete({ finishedAt: _finishedAt, error: _error, reason: _reason, ...run }: Run): Run {
  return { ...run, status: 'paused', waiting: [] }
}

async function isSame(store: Store, { id }: Run, records: readonly string[]): Promise<boolean> {
  for (let after = -1; after < records.length - 1;) {
    // An unreadable log counts as different.
    const slice = await readCheckedLog(store, id, after, defaultLimits.maxReadBytes).catch(() => undefined)
    if (slice === undefined) return false
    for (const { index, type, envelope } of rawRecords(slice))
      if (records[index] !== `id: ${index}\nevent: ${type}\ndata: ${envelope}\n\n`) return false
    after = slice.first + slice.count - 1
  }
  return (await store.get(id))?.next === records.length
}
