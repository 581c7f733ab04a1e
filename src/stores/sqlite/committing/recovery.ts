/**
 * Log recovery: moves records that an earlier process left in the log into segments, so that there is one location to read from.
 * Processes the log in bounded windows, each one transaction, so it takes time in proportion to the log.
 *
 * Every entry is verified: its run must exist, its records must name that run, and they must be contiguous with the run's log.
 * Entries of removed runs are dropped. A run whose records are not contiguous is quarantined; all others continue.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { faultIn } from '../../../core/delivery/read-log.ts'
import type { LogDamage } from '../../../core/ports/store.ts'
import { type Slice, sliceAfter } from '../../../core/model/slice.ts'
import { EMPTY_LOG_ROW, entriesOf, extentOf, type LogEntry, runNamedIn } from '../tables/log-rows.ts'
import { RunNumbers } from '../tables/run-numbers.ts'
import { gapDamage, Quarantine } from '../tables/quarantine.ts'
import type { SegmentWrites } from './segment-writes.ts'
import { segmentsOf } from '../tables/segment.ts'
import { isCorrupt } from '../file/sqlite-errors.ts'
import { Tail } from '../runs/tail.ts'

export interface RecoveryResult {
  /** Number of the last log row. */
  readonly seq: number
  readonly warnings: readonly string[]
}

/** Maximum bytes of log rows in a window, unless a single row is larger. */
const WINDOW_BYTES = 16 * 1024 * 1024

interface LogRow {
  readonly seq: number
  readonly entries: readonly LogEntry[]
}

/** One run's part of a window. */
interface Part {
  readonly id: string
  readonly records: Tail
  /** Expected index of the next record. */
  next: number
}

export class LogRecovery {
  readonly #transaction: (work: () => void) => void
  readonly #rows: StatementSync
  readonly #run: StatementSync
  readonly #segments: SegmentWrites
  readonly #byId: StatementSync
  readonly #delete: StatementSync
  readonly #empty: StatementSync
  readonly #numbers: RunNumbers
  readonly #quarantine: Quarantine
  readonly #warnings: string[] = []

  constructor(database: DatabaseSync, segments: SegmentWrites, transaction: (work: () => void) => void) {
    this.#segments = segments
    this.#transaction = transaction
    this.#rows = database.prepare('SELECT * FROM log WHERE seq > ? ORDER BY seq')
    this.#run = database.prepare('SELECT id, first FROM runs WHERE number = ?')
    this.#byId = database.prepare('SELECT number FROM runs WHERE id = ?')
    this.#delete = database.prepare('DELETE FROM log WHERE seq < ?')
    this.#empty = database.prepare(EMPTY_LOG_ROW)
    this.#numbers = new RunNumbers(database)
    this.#quarantine = new Quarantine(database)
  }

  recover(): RecoveryResult {
    let seq = 0
    for (let window = this.#window(seq); window.length > 0; window = this.#window(seq)) {
      seq = window.at(-1)!.seq
      if (window.length > 1 || window[0]!.entries.length > 0) this.#transaction(() => this.#move(window))
    }
    return { seq, warnings: this.#warnings }
  }

  #window(after: number): LogRow[] {
    const window: LogRow[] = []
    let bytes = 0
    for (const row of this.#rows.iterate(after)) {
      window.push({ seq: Number(row['seq']), entries: entriesOf(row) })
      bytes += (row['data'] as Uint8Array).length
      if (bytes >= WINDOW_BYTES) break
    }
    return window
  }

  #move(window: readonly LogRow[]): void {
    const parts = new Map<number, Part | undefined>()
    const partOf = (number: number): Part | undefined => {
      if (!parts.has(number)) parts.set(number, this.#part(number))
      return parts.get(number)
    }
    for (const { entries } of window) {
      for (const entry of entries) {
        const number = entry.isSound ? entry.number : this.#damagedRun(entry)
        if (number === undefined) continue
        // Even for a removed run: its number is never reused.
        this.#numbers.used(number)
        const part = partOf(number)
        if (part !== undefined) this.#take(number, part, entry)
      }
    }
    for (const [number, part] of parts) if (part !== undefined) this.#seal(number, part)
    const { seq } = window.at(-1)!
    this.#delete.run(seq)
    this.#empty.run(seq) // so that the file still knows its last commit
  }

  /** Undefined for a removed run, or one whose row cannot be read. */
  #part(number: number): Part | undefined {
    const run = this.#runIfReadable(number)
    if (run === undefined) return undefined
    const id = run['id'] as string
    const last = this.#segments.last(number)
    if (last?.isSound === false) {
      const damage = { first: last.first, last: last.first + last.count - 1, reason: 'do not match their checksum' }
      this.#warn(this.#quarantine.add(number, id, damage))
    }
    return { id, records: new Tail(), next: last === undefined ? Number(run['first']) : last.first + last.count }
  }

  #runIfReadable(number: number): Record<string, unknown> | undefined {
    try {
      return this.#run.get(number)
    } catch (cause) {
      if (!isCorrupt(cause)) throw cause
      this.#warn(`the row of run number ${number} cannot be read: what the log has of it is left out`)
      return undefined
    }
  }

  /** The run of damaged records: the one that they name, if it differs from the directory. */
  #damagedRun({ number, bytes }: LogEntry): number | undefined {
    const named = runNamedIn(bytes)
    const known = named === undefined ? undefined : this.#byId.get(named)
    if (known !== undefined) return Number(known['number'])
    if (this.#runIfReadable(number) !== undefined) return number
    this.#warn('the log has damaged records of a run that is not there: they are left out')
    return undefined
  }

  #take(number: number, part: Part, entry: LogEntry): void {
    const end = entry.isSound ? entry.first + entry.count : extentOf(entry).end
    if (end <= part.next) return // already in a segment
    if (!entry.isSound) {
      const damage: LogDamage = { first: extentOf(entry).first, last: end - 1, reason: 'do not match their checksum' }
      return this.#warn(this.#quarantine.add(number, part.id, damage))
    }
    const slice: Slice = { first: entry.first, count: entry.count, bytes: entry.bytes, closed: false }
    const fault = faultIn(part.id, slice)
    if (fault !== undefined) return this.#warn(`run ${part.id}: skipped invalid records in the log: ${fault}`)
    if (entry.first > part.next) {
      this.#seal(number, part)
      this.#warn(this.#quarantine.add(number, part.id, gapDamage(part.next, entry.first - 1)))
    }
    part.records.push(sliceAfter(slice, Math.max(part.next, entry.first) - 1))
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
