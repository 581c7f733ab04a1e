/** Reads a log to its current end for a fold that shares the event loop with others. */
import { isHoldfastError } from '../model/errors.ts'
import { type EnvelopeRecord, envelopeRecords, markOf, type Slice } from '../model/slice.ts'
import type { Store } from '../ports/store.ts'
import { paceFolds } from '../runtime/share-event-loop.ts'
import { type FoldBatch, batchesOf } from './fold-batches.ts'
import type { Fold } from './fold-queue.ts'
import { readCheckedLog } from './read-log.ts'

/** The last folded event, identified by its record. */
export interface LogTip {
  readonly index: number
  readonly mark: string | undefined
}

/** Whether the log still has the record. After a failover that lost the end of the log, another event may have its index. */
export async function isInLog(store: Store, run: string, { index, mark }: LogTip): Promise<boolean> {
  const slice = await readCheckedLog(store, run, index - 1, 1).catch((cause: unknown) => {
    if (isHoldfastError(cause, 'cursor_invalid') || isHoldfastError(cause, 'cursor_expired')) return undefined
    throw cause
  })
  const [record] = slice === undefined ? [] : envelopeRecords(slice)
  slice?.release?.()
  return record !== undefined && markOf(record.envelope) === mark
}

interface FoldBounds {
  /** Maximum bytes of one read. */
  readonly maxBytes: number
  /** Maximum records folded before others get the event loop. */
  readonly atOnce: number
  /** The fold that the records are read for. */
  readonly fold: Fold
}

/** Yields the records after an index up to the current end of the log, at most `atOnce` at a time. */
export async function* recordsAfter(
  store: Store,
  run: string,
  after: number,
  bounds: FoldBounds,
): AsyncGenerator<readonly EnvelopeRecord[], void, void> {
  for await (const slice of pagesAfter(store, run, after, bounds)) {
    const records = envelopeRecords(slice)
    for (let next = 0; next < records.length; next += bounds.atOnce) {
      const pause = paceFolds()
      if (pause !== undefined) await pause
      yield records.slice(next, next + bounds.atOnce)
    }
  }
}

/** Like `recordsAfter`, for folds that process many texts at once. */
export async function* batchesAfter(
  store: Store,
  run: string,
  after: number,
  bounds: FoldBounds,
): AsyncGenerator<FoldBatch, void, void> {
  for await (const slice of pagesAfter(store, run, after, bounds))
    for (const batch of batchesOf(slice, run, bounds.atOnce)) {
      const pause = paceFolds()
      if (pause !== undefined) await pause
      yield batch
    }
}

/** Reuses a page's memory when the next page is requested: callers must not keep its bytes. */
async function* pagesAfter(
  store: Store,
  run: string,
  after: number,
  { maxBytes, fold }: FoldBounds,
): AsyncGenerator<Slice, void, void> {
  for (let index = after; ;) {
    const slice = await readCheckedLog(store, run, index, maxBytes)
    if (slice === undefined) return
    yield slice
    slice.release?.()
    if (slice.closed) return
    index += slice.count
    await fold.proceed()
  }
}
