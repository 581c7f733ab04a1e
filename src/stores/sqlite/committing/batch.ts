/** Builds one commit from the pending changes of many runs: one join, one encoding, one directory entry per run. */
import type { Slice } from '../../../core/model/slice.ts'
import type { ActiveRun, TakenWork } from '../runs/active-run.ts'
import type { RunRow } from './committing-messages.ts'

/** A run's part of a commit. */
export interface BatchEntry extends Pick<TakenWork, 'revision' | 'next' | 'changed'> {
  readonly active: ActiveRun
  /** Undefined when only the row changes. */
  readonly slice: Slice | undefined
}

export interface Batch {
  readonly entries: readonly BatchEntry[]
  readonly chars: number
  readonly data: Uint8Array
  readonly directory: Int32Array
  readonly rows: readonly RunRow[]
  readonly ended: readonly number[]
  readonly trimmed: readonly (readonly [run: number, before: number])[]
}

/** Takes runs from `waiting`, oldest first, until the commit is large enough. */
export function takeBatch(waiting: Set<ActiveRun>, maxChars: number): Batch {
  const taken: TakenRun[] = []
  let chars = 0
  for (const active of waiting) {
    waiting.delete(active)
    const work = active.take()
    taken.push({ active, ...work })
    chars += work.text.length
    if (chars >= maxChars) break
  }
  const text = taken.map((each) => each.text).join('')
  const bytes = Buffer.byteLength(text)
  // Not from the shared pool: a view of the pool would transfer the whole pool to the other thread.
  const data = Buffer.allocUnsafeSlow(bytes)
  const ascii = bytes === text.length
  data.write(text, ascii ? 'latin1' : 'utf8')
  return { ...describe(taken, data, ascii), chars }
}

type TakenRun = TakenWork & { readonly active: ActiveRun }

function describe(taken: readonly TakenRun[], data: Uint8Array, ascii: boolean): Omit<Batch, 'chars'> {
  const entries: BatchEntry[] = []
  const directory: number[] = []
  const rows: RunRow[] = []
  const ended: number[] = []
  const trimmed: [number, number][] = []
  let offset = 0
  for (const { active, text, first, count, revision, next, changed, row, trimmedBefore } of taken) {
    const { number, finished: closed } = active
    const length = ascii ? text.length : Buffer.byteLength(text)
    const bytes = data.subarray(offset, offset + length)
    entries.push({ active, revision, next, changed, slice: count > 0 ? { first, count, bytes, closed } : undefined })
    if (count > 0) directory.push(number, first, count, length)
    if (row !== undefined) rows.push(row)
    if (closed) ended.push(number)
    if (trimmedBefore !== undefined) trimmed.push([number, trimmedBefore])
    offset += length
  }
  return { entries, data, directory: Int32Array.from(directory), rows, ended, trimmed }
}
