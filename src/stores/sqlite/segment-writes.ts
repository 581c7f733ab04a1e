/** The writing side of the segments. Call it inside a transaction. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Slice, sliceAfter } from '../../core/record.ts'
import { segmentsOf } from './segment.ts'

/** Beyond it a segment was written by a version that knew no bound. */
const GIANT_BYTES = 256 * 1024
/** In `counters`: the file has no such segment. */
const BOUNDED = 'bounded segments'

export class SegmentWrites {
  readonly #database: DatabaseSync
  readonly #insert: StatementSync
  readonly #next: StatementSync
  readonly #deleteBefore: StatementSync
  readonly #cut: StatementSync
  readonly #deleteOne: StatementSync
  readonly #deleteAll: StatementSync

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#insert = database.prepare('INSERT INTO segments (run, first, count, data) VALUES (?, ?, ?, ?)')
    this.#next = database.prepare(
      'SELECT first + count AS next FROM segments WHERE run = ? ORDER BY first DESC LIMIT 1',
    )
    this.#deleteBefore = database.prepare('DELETE FROM segments WHERE run = ? AND first < ? AND first + count <= ?')
    this.#cut = database.prepare('SELECT rowid, first, count, data FROM segments WHERE run = ? AND first < ?')
    this.#deleteOne = database.prepare('DELETE FROM segments WHERE rowid = ?')
    this.#deleteAll = database.prepare('DELETE FROM segments WHERE run = ?')
  }

  insert(run: number, { first, count, bytes }: Omit<Slice, 'closed'>): void {
    this.#insert.run(run, first, count, bytes)
  }

  /** Index after the last record that is in a segment; undefined when there is none. */
  next(run: number): number | undefined {
    const row = this.#next.get(run)
    return row && Number(row['next'])
  }

  /** Deletes the records before an index. */
  trim(run: number, before: number): void {
    this.#deleteBefore.run(run, before, before)
    const row = this.#cut.get(run, before)
    if (row !== undefined) this.#replace(Number(row['rowid']), run, sliceAfter(sliceOf(row), before - 1))
  }

  remove(run: number): void {
    this.#deleteAll.run(run)
  }

  /**
   * Cuts the segments that an earlier version made without a bound, each in a transaction of its own. Looks for them once in
   * the life of a file.
   */
  cutGiants(transaction: (work: () => void) => void): void {
    if (this.#database.prepare('SELECT 1 FROM counters WHERE name = ?').get(BOUNDED) !== undefined) return
    const giants = this.#database
      .prepare(`SELECT rowid, run FROM segments WHERE length(data) > ${GIANT_BYTES} AND count > 1`)
      .all()
    const load = this.#database.prepare('SELECT first, count, data FROM segments WHERE rowid = ?')
    for (const { rowid, run } of giants)
      transaction(() => this.#replace(Number(rowid), Number(run), sliceOf(load.get(Number(rowid))!)))
    transaction(() => this.#database.prepare('INSERT INTO counters (name, value) VALUES (?, 1)').run(BOUNDED))
  }

  #replace(rowid: number, run: number, records: Slice): void {
    this.#deleteOne.run(rowid)
    for (const segment of segmentsOf(records)) this.insert(run, segment)
  }
}

function sliceOf(row: Record<string, unknown>): Slice {
  return {
    first: Number(row['first']),
    count: Number(row['count']),
    bytes: row['data'] as Uint8Array,
    closed: false,
  }
}
