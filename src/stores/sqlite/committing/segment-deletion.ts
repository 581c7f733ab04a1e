/**
 * Deletes the segments of removed runs and of trimmed ranges. Deleting a segment frees each of its pages, and those of a giant run
 * would hold every other commit: what exceeds a slice is recorded in `deletions` and deleted by later commits, also after a crash.
 * Nothing reads it meanwhile: a removed run has no row, and a trimmed one starts later.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** Bytes per commit that removes or trims, and per idle one. */
const SLICE_BYTES = 4 * 1024 * 1024
/** Bytes that a commit with other work deletes of what earlier ones left. */
const SHARE_BYTES = 256 * 1024
/** A segment counts as at least one page. */
const PAGE_BYTES = 4096

/** `before`: the index before which segments are deleted; null: all, the run is removed. */
interface Deletion {
  readonly run: number
  readonly before: number | null
  readonly bytes: number
}

/** Segments to delete now. */
interface DeletionSlice {
  readonly rows: readonly number[]
  readonly bytes: number
  readonly cost: number
  /** Nothing is left after it. */
  readonly isLast: boolean
}

export class SegmentDeletion {
  readonly #all: StatementSync
  readonly #before: StatementSync
  readonly #delete: StatementSync
  readonly #sum: StatementSync
  readonly #uncharge: StatementSync
  readonly #first: StatementSync
  readonly #of: StatementSync
  readonly #put: StatementSync
  readonly #shrink: StatementSync
  readonly #done: StatementSync
  #cost = 0
  #more = true
  #current: number | undefined

  constructor(database: DatabaseSync) {
    const rows = 'SELECT rowid, length(data) AS bytes FROM segments WHERE run = ?'
    this.#all = database.prepare(`${rows} ORDER BY first`)
    this.#before = database.prepare(`${rows} AND first < ? AND first + count <= ? ORDER BY first`)
    this.#delete = database.prepare('DELETE FROM segments WHERE rowid = ?')
    this.#sum = database.prepare(
      `SELECT coalesce(sum(length(data)), 0) AS bytes FROM segments
         WHERE run = ?1 AND first >= ?2 AND (?3 IS NULL OR first + count <= ?3)`,
    )
    this.#uncharge = database.prepare(
      'UPDATE usage SET log_bytes = log_bytes - ? WHERE owner = (SELECT owner FROM runs WHERE number = ?)',
    )
    this.#first = database.prepare('SELECT * FROM deletions ORDER BY run LIMIT 1')
    this.#of = database.prepare('SELECT * FROM deletions WHERE run = ?')
    this.#put = database.prepare('INSERT OR REPLACE INTO deletions (run, before, bytes) VALUES (?, ?, ?)')
    this.#shrink = database.prepare('UPDATE deletions SET bytes = bytes - ? WHERE run = ?')
    this.#done = database.prepare('DELETE FROM deletions WHERE run = ?')
    this.#more = this.#next() !== undefined
  }

  /** Segments are left to delete. */
  get more(): boolean {
    return this.#more
  }

  /** The run whose segments `run` was deleting when it failed. */
  get current(): number | undefined {
    return this.#current
  }

  /** Call in the transaction that then deletes the run's row. */
  remove(run: number): void {
    this.#drop(run, null)
  }

  /** Deletes the segments that end before an index. */
  trim(run: number, before: number): void {
    this.#drop(run, before)
  }

  /** Deletes a slice of what is left. Call once at the end of each transaction; `isIdle`: it has no other work. */
  run(isIdle: boolean): void {
    const budget = isIdle ? SLICE_BYTES : SHARE_BYTES
    for (let next = this.#next(); next !== undefined && this.#cost < budget; next = this.#next()) {
      this.#current = next.run
      const slice = this.#slice(next.run, next.before, budget)
      this.#deleteRows(slice)
      if (slice.isLast) this.#done.run(next.run)
      else this.#shrink.run(slice.bytes, next.run)
      this.#more = !slice.isLast || this.#first.get() !== undefined
    }
    this.#current = undefined
    this.#cost = 0
  }

  /** The database is damaged there: leaves the rest, since every further attempt would fail its commit. */
  giveUp(run: number): void {
    this.#done.run(run)
  }

  #next(): Deletion | undefined {
    return this.#more ? (this.#first.get() as Deletion | undefined) : undefined
  }

  /** Usage is reduced at once: size limits must not remove other runs for space that is about to be free. */
  #drop(run: number, before: number | null): void {
    const earlier = this.#more ? (this.#of.get(run) as Deletion | undefined) : undefined
    if (earlier === undefined) {
      const slice = this.#slice(run, before, SLICE_BYTES)
      if (slice.isLast) return this.#deleteRows(slice)
    }
    const bytes = Number(this.#sum.get(run, earlier?.before ?? 0, before)!['bytes'])
    this.#uncharge.run(bytes, run)
    this.#put.run(run, before, bytes + (earlier?.bytes ?? 0))
    this.#more = true
  }

  /** The oldest segments that this transaction may still delete. */
  #slice(run: number, before: number | null, budget: number): DeletionSlice {
    const rows: number[] = []
    let [bytes, cost] = [0, this.#cost]
    for (const row of before === null ? this.#all.iterate(run) : this.#before.iterate(run, before, before)) {
      if (cost >= budget) return { rows, bytes, cost, isLast: false }
      rows.push(Number(row['rowid']))
      bytes += Number(row['bytes'])
      cost += Math.max(Number(row['bytes']), PAGE_BYTES)
    }
    return { rows, bytes, cost, isLast: true }
  }

  #deleteRows({ rows, cost }: DeletionSlice): void {
    for (const row of rows) this.#delete.run(row)
    this.#cost = cost
  }
}

/** Deletes everything that is left. For a file that is not in use. */
export function finishDeletions(database: DatabaseSync): void {
  const deletion = new SegmentDeletion(database)
  while (deletion.more) {
    database.exec('BEGIN IMMEDIATE')
    deletion.run(true)
    database.exec('COMMIT')
  }
}
