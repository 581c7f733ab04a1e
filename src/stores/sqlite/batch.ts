/** Builds one commit from the pending changes of many runs: one join, one encoding, one directory entry per run. */
import type { Slice } from '../../core/model/record.ts'
import type { StoredRun } from '../../core/ports/store.ts'
import type { ActiveRun } from './active-run.ts'
import type { RunRow } from './messages.ts'

/** A run's part of a commit. */
export interface BatchEntry {
  readonly active: ActiveRun
  /** The revision that the commit makes durable. */
  readonly revision: number
  readonly next: number
  /** The durable view after the commit, if more than `next` changes. */
  readonly changed: StoredRun | undefined
  /** Undefined if only the row changes. */
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
export function takeBatch(waiting: Set<ActiveRun>, charsMax: number): Batch {
  const taken: ActiveRun[] = []
  let chars = 0
  for (const active of waiting) {
    waiting.delete(active)
    taken.push(active)
    chars += active.text.length
    if (chars >= charsMax) break
  }
  const text = taken.map((active) => active.text).join('')
  const bytes = Buffer.byteLength(text)
  // Not from the shared pool: a view of the pool would transfer the whole pool to the other thread.
  const data = Buffer.allocUnsafeSlow(bytes)
  const ascii = bytes === text.length
  data.write(text, ascii ? 'latin1' : 'utf8')
  return { ...describe(taken, data, ascii), chars }
}

function describe(taken: readonly ActiveRun[], data: Uint8Array, ascii: boolean): Omit<Batch, 'chars'> {
  const entries: BatchEntry[] = []
  const directory: number[] = []
  const rows: RunRow[] = []
  const ended: number[] = []
  const trimmed: [number, number][] = []
  let offset = 0
  for (const active of taken) {
    const count = active.textCount
    const length = ascii ? active.text.length : Buffer.byteLength(active.text)
    const first = active.next - count
    entries.push({
      active,
      revision: active.revision,
      next: active.next,
      changed: active.dirty ? active.snapshot() : undefined,
      slice:
        count > 0
          ? { first, count, bytes: data.subarray(offset, offset + length), closed: active.finished }
          : undefined,
    })
    if (count > 0) directory.push(active.number, first, count, length)
    if (active.dirty) rows.push(active.row())
    if (active.finished) ended.push(active.number)
    if (active.trimmed) trimmed.push([active.number, active.first])
    offset += length
    active.text = ''
    active.textCount = 0
    active.dirty = false
    active.isNew = false
    active.trimmed = false
  }
  return { entries, data, directory: Int32Array.from(directory), rows, ended, trimmed }
}
