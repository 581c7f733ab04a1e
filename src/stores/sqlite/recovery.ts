/**
 * Recovery: moves what an earlier process left in the log into segments, so that there is one place to read from. Works
 * through the log in windows of bounded size, each one transaction, and so takes time in proportion to the log.
 *
 * Every entry is checked before it is taken: its run must still exist, its records must name that run, and they must follow
 * what the run has. Entries of removed runs are dropped. A run whose records do not follow is quarantined; all others go on.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { faultIn } from '../../core/log-read.ts'
import { type Slice, sliceAfter } from '../../core/record.ts'
import { RunNumbers } from './run-numbers.ts'
import { gapDamage, Quarantine } from './quarantine.ts'
import type { SegmentWrites } from './segment-writes.ts'
import { segmentsOf } from './segment.ts'
import { Tail } from './tail.ts'

export interface Recovered {
  /** Of the last log row. */
  readonly seq: number
  readonly warnings: readonly string[]
}

/** Bytes of log rows that are taken at once, or one row. */
const WINDOW_BYTES = 16 * 1024 * 1024

interface LogRow {
  readonly seq: number
  readonly directory: Int32Array
  readonly data: Uint8Array
}

/** What a window has of one run. */
interface Part {
  readonly id: string
  readonly records: Tail
  /** Index that the next record must have. */
  next: number
}

export class Recovery {
  readonly #transaction: (work: () => void) => void
  readonly #rows: StatementSync
  readonly #run: StatementSync
  readonly #segments: SegmentWrites
  readonly #delete: StatementSync
  readonly #numbers: RunNumbers
  readonly #quarantine: Quarantine
  readonly #warnings: string[] = []

  constructor(database: DatabaseSync, segments: SegmentWrites, transaction: (work: () => void) => void) {
    this.#segments = segments
    this.#transaction = transaction
    this.#rows = database.prepare('SELECT seq, dir, data FROM log WHERE seq > ? ORDER BY seq')
    this.#run = database.prepare('SELECT id, first FROM runs WHERE number = ?')
    this.#delete = database.prepare('DELETE FROM log WHERE seq <= ?')
    this.#numbers = new RunNumbers(database)
    this.#quarantine = new Quarantine(database)
  }

  recover(): Recovered {
    let seq = 0
    for (let window = this.#window(seq); window.length > 0; window = this.#window(seq)) {
      this.#transaction(() => this.#move(window))
      seq = window.at(-1)!.seq
    }
    return { seq, warnings: this.#warnings }
  }

  #window(after: number): LogRow[] {
    const window: LogRow[] = []
    let bytes = 0
    for (const row of this.#rows.iterate(after)) {
      const data = row['data'] as Uint8Array
      const directory = new Int32Array((row['dir'] as Uint8Array).slice().buffer)
      window.push({ seq: Number(row['seq']), directory, data })
      bytes += data.length
      if (bytes >= WINDOW_BYTES) break
    }
    return window
  }

  #move(window: readonly LogRow[]): void {
    const parts = new Map<number, Part | undefined>()
    for (const { directory, data } of window) {
      for (let at = 0, offset = 0; at < directory.length; at += 4) {
        const [number, first, count, bytes] = [
          directory[at]!,
          directory[at + 1]!,
          directory[at + 2]!,
          directory[at + 3]!,
        ]
        // Also of a run that is gone: its number is never given to another.
        this.#numbers.used(number)
        if (!parts.has(number)) parts.set(number, this.#part(number))
        const part = parts.get(number)
        const entry = { first, count, bytes: data.subarray(offset, offset + bytes), closed: false }
        if (part !== undefined) this.#take(number, part, entry)
        offset += bytes
      }
    }
    for (const [number, part] of parts) if (part !== undefined) this.#seal(number, part)
    this.#delete.run(window.at(-1)!.seq)
  }

  /** Undefined for a run that was removed. */
  #part(number: number): Part | undefined {
    const run = this.#run.get(number)
    if (run === undefined) return undefined
    const next = this.#segments.next(number) ?? Number(run['first'])
    return { id: run['id'] as string, records: new Tail(), next }
  }

  #take(number: number, part: Part, entry: Slice): void {
    const end = entry.first + entry.count
    if (end <= part.next) return // in a segment already
    const fault = faultIn(part.id, entry)
    if (fault !== undefined) return this.#warn(`run ${part.id}: the log has ${fault}; it is left out`)
    if (entry.first > part.next) {
      this.#seal(number, part)
      this.#warn(this.#quarantine.add(number, part.id, gapDamage(part.next, entry.first - 1)))
    }
    part.records.push(sliceAfter(entry, Math.max(part.next, entry.first) - 1))
    part.next = end
  }

  #seal(number: number, { records }: Part): void {
    for (const segment of segmentsOf(records.slice())) this.#segments.insert(number, segment)
    records.dropBefore(records.first + records.count)
  }

  #warn(warning: string | undefined): void {
    if (warning !== undefined) this.#warnings.push(warning)
  }
}
