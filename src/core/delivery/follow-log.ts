/** Reads a log to its current end for a fold that shares the event loop with others. */
import { isHoldfastError } from '../model/errors.ts'
import { type EnvelopeRecord, envelopeRecords, markOf } from '../model/record.ts'
import type { Store } from '../ports/store.ts'
import { paceFolds } from '../runtime/share-event-loop.ts'
import { readLog } from './read-log.ts'

/** The last event that was folded, identified by its record. */
export interface LogTip {
  readonly index: number
  readonly mark: string | undefined
}

/** Whether the log still has the record: it may have lost its end in a failover, and another event may have the index. */
export async function isInLog(store: Store, run: string, { index, mark }: LogTip): Promise<boolean> {
  const slice = await readLog(store, run, index - 1, 1).catch((cause: unknown) => {
    if (isHoldfastError(cause, 'cursor_invalid') || isHoldfastError(cause, 'cursor_expired')) return undefined
    throw cause
  })
  const [record] = slice === undefined ? [] : envelopeRecords(slice)
  return record !== undefined && markOf(record.envelope) === mark
}

/** The records after an index, at most `atOnce` at a time, to the end that the log has. */
export async function* recordsAfter(
  store: Store,
  run: string,
  after: number,
  { maxBytes, atOnce }: { readonly maxBytes: number; readonly atOnce: number },
): AsyncGenerator<readonly EnvelopeRecord[], void, void> {
  for (let index = after; ;) {
    const slice = await readLog(store, run, index, maxBytes)
    if (slice === undefined) return
    const records = envelopeRecords(slice)
    for (let next = 0; next < records.length; next += atOnce) {
      const turn = paceFolds()
      if (turn !== undefined) await turn
      yield records.slice(next, next + atOnce)
    }
    if (slice.closed) return
    index += slice.count
  }
}
