/** Writes segments. Call inside a transaction. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { faultIn } from '../../../core/delivery/read-log.ts'
import { type Slice, sliceAfter } from '../../../core/model/slice.ts'
import { recordsChecksum } from '../tables/checksum.ts'
import { segmentIn, segmentsOf, type StoredSegment } from '../tables/segment.ts'

/** Larger segments come from a version without a limit. */
const GIANT_BYTES = 256 * 1024
/** Key in `counters`: the file has no such segment. */
const BOUNDED = 'bounded segments'

export class SegmentWrites {
  readonly #database: DatabaseSync
  readonly #insert: StatementSync
  readonly #last: StatementSync
  readonly #cut: StatementSync
  readonly #deleteOne: StatementSync
  readonly #deleteAll: StatementSync
  readonly #id: StatementSync

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#insert = database.prepare('INSERT INTO segments (run, first, count, data, crc) VALUES (?, ?, ?, ?, ?)')
    this.#last = database.prepare('SELECT * FROM segments WHERE run = ? ORDER BY first DESC LIMIT 1')
    this.#cut = database.prepare(
      'SELECT rowid, * FROM segments WHERE run = ? AND first < ? ORDER BY first DESC LIMIT 1',
    )
    this.#deleteOne = database.prepare('DELETE FROM segments WHERE rowid = ?')
    this.#deleteAll = database.prepare('DELETE FROM segments WHERE run = ?')
    this.#id = database.prepare('SELECT id FROM runs WHERE number = ?')
  }

  insert(run: number, { first, count, bytes }: Omit<Slice, 'closed'>): void {
    this.#insert.run(run, first, count, bytes, recordsChecksum(run, first, count, bytes))
  }

  /** The last segment of a run; undefined: none. */
  last(run: number): StoredSegment | undefined {
    const row = this.#last.get(run)
    return row && segmentIn(row)
  }

  /** Cuts the segment that holds an index, so that one starts there. Returns it if it is damaged, and left unchanged. */
  cut(run: number, before: number): StoredSegment | undefined {
    const row = this.#cut.get(run, before)
    if (row === undefined) return undefined
    const segment = segmentIn(row)
    if (segment.first + segment.count <= before) return undefined // its deletion is pending
    if (!this.#isWhole(run, segment)) return segment
    this.#replace(Number(row['rowid']), run, sliceAfter({ ...segment, closed: false }, before - 1))
    return undefined
  }

  remove(run: number): void {
    this.#deleteAll.run(run)
  }

  /**
   * Splits the oversized segments of an earlier version, each in its own transaction. Scans each file once. Damaged ones stay as they
   * are: their readers report them.
   */
  cutGiants(transaction: (work: () => void) => void): void {
    if (this.#database.prepare('SELECT 1 FROM counters WHERE name = ?').get(BOUNDED) !== undefined) return
    const giants = this.#database
      .prepare(`SELECT rowid, run FROM segments WHERE length(data) > ${GIANT_BYTES} AND count > 1`)
      .all()
    const load = this.#database.prepare('SELECT * FROM segments WHERE rowid = ?')
    for (const { rowid, run } of giants) {
      transaction(() => {
        const segment = segmentIn(load.get(Number(rowid))!)
        if (this.#isWhole(Number(run), segment))
          this.#replace(Number(rowid), Number(run), { ...segment, closed: false })
      })
    }
    transaction(() => this.#database.prepare('INSERT INTO counters (name, value) VALUES (?, 1)').run(BOUNDED))
  }

  /** Whether it can be cut: without a checksum, every record is checked. */
  #isWhole(run: number, segment: StoredSegment): boolean {
    if (!segment.isSound || segment.hasChecksum) return segment.isSound
    const id = this.#id.get(run)?.['id']
    return typeof id === 'string' && faultIn(id, { ...segment, closed: false }) === undefined
  }

  #replace(rowid: number, run: number, records: Slice): void {
    this.#deleteOne.run(rowid)
    for (const segment of segmentsOf(records)) this.insert(run, segment)
  }
}
