/** Reads rows of `runs`. A damaged row does not prevent reading the others. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Position, positionOf } from '../../../core/model/page.ts'
import { isFinished, type RunStatus } from '../../../core/model/run.ts'
import type { RunQuery } from '../../../core/ports/store.ts'
import { damageError, gapDamage } from '../tables/quarantine.ts'
import { lostRun, type NumberedRun, readRow, type Row } from '../tables/run-rows.ts'
import { VERSION } from '../tables/schema.ts'
import { segmentIn } from '../tables/segment.ts'
import { isCorrupt } from '../file/sqlite-errors.ts'

export interface RunListing {
  readonly runs: readonly NumberedRun[]
  /** Runs of the listing that are completely unreadable. */
  readonly unreadable: number
}

/** Maximum unreadable runs that one listing skips. */
const PASSED_MAX = 1000
/** Maximum runs that it reads one by one in a damaged table. */
const ONE_BY_ONE_MAX = 10_000

export class RunRowReader {
  readonly #database: DatabaseSync
  readonly #byId: StatementSync
  readonly #byKey: StatementSync
  readonly #byNumber: StatementSync
  readonly #lastSegment: StatementSync

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#byId = database.prepare('SELECT * FROM runs WHERE id = ?')
    this.#byKey = database.prepare('SELECT * FROM runs WHERE owner = ? AND idempotency_key = ?')
    this.#byNumber = database.prepare('SELECT * FROM runs NOT INDEXED WHERE number = ?')
    this.#lastSegment = database.prepare('SELECT * FROM segments WHERE run = ? ORDER BY first DESC LIMIT 1')
  }

  /** Throws `log_damaged` if the run exists but is completely unreadable. */
  byId(id: string): NumberedRun | undefined {
    const row = this.#byId.get(id)
    const found = row && this.#runIn(row)
    if (row === undefined || found?.stored.run.id === id) return found
    throw damageError(id, { first: 0, last: 0, reason: 'and whatever followed cannot be read: its row is damaged' })
  }

  byKey(owner: string, key: string): NumberedRun | undefined {
    const row = this.#byKey.get(owner, key)
    const found = row && this.#runIn(row)
    if (row === undefined || (found?.stored.run.owner === owner && found.idempotency?.key === key)) return found
    const reason = 'and whatever followed cannot be read: the row of the run that has this idempotency key is damaged'
    throw damageError(String(row['id']), { first: 0, last: 0, reason })
  }

  list(query: RunQuery): RunListing {
    const { index, covers } = indexFor(query)
    const conditions: string[] = covers === undefined ? [] : [covers]
    const values: (string | number)[] = []
    for (const column of ['owner', 'component', 'session'] as const) {
      const value = query[column]
      if (value === undefined) continue
      conditions.push(`${column} = ?`)
      values.push(value)
    }
    if (query.status !== undefined) {
      conditions.push(`status IN (${query.status.map(() => '?').join(', ')})`)
      values.push(...query.status)
    }
    if (query.version !== undefined) {
      conditions.push(`${VERSION} = ?`)
      values.push(query.version)
    }
    if (query.after !== undefined) {
      conditions.push('(created, id) < (?, ?)')
      const { createdAt, id } = positionOf(query.after)
      values.push(createdAt, id)
    }
    const statement = this.#database.prepare(
      `SELECT * FROM runs INDEXED BY ${index} ${whereClause(conditions)} ORDER BY created DESC, id DESC LIMIT ?`,
    )
    try {
      const listing = this.#listingOf(statement.all(...values, query.limit), query)
      if (listing.unreadable === 0) return listing
      return this.#listingOf(statement.all(...values, query.limit + PASSED_MAX), query)
    } catch (cause) {
      if (!isCorrupt(cause)) throw cause
      return this.#listOneByOne(query)
    }
  }

  /** Runs after a position, oldest first. */
  following(limit: number, after: Position | undefined): NumberedRun[] {
    const where = after === undefined ? '' : 'WHERE (created, id) > (?, ?)'
    const rows = this.#database
      .prepare(`SELECT * FROM runs ${where} ORDER BY created, id LIMIT ?`)
      .all(...(after === undefined ? [] : [after.createdAt, after.id]), limit)
    return rows.flatMap((row) => this.#runIn(row) ?? [])
  }

  /** Finished runs of an owner after a position, oldest first, each with the bytes of its segments. */
  finished(owner: string, limit: number, after: Position | undefined): (NumberedRun & { readonly bytes: number })[] {
    const where = after === undefined ? '' : 'AND (created, id) > (?, ?)'
    const rows = this.#database
      .prepare(
        `SELECT *, (SELECT coalesce(sum(length(data)), 0) FROM segments
           WHERE run = number AND segments.first + count > runs.first) AS bytes
         FROM runs INDEXED BY runs_by_owner WHERE owner = ? AND finished IS NOT NULL ${where} ORDER BY created, id LIMIT ?`,
      )
      .all(owner, ...(after === undefined ? [] : [after.createdAt, after.id]), limit)
    return rows.flatMap((row) => {
      const found = this.#runIn(row)
      return found?.stored.run.owner === owner ? { ...found, bytes: Number(row['bytes']) } : []
    })
  }

  /**
   * Extended by the events in the log; runs whose log has gaps are damaged. In the order in which they were created: by number, since
   * the clock may have been set back.
   */
  unfinished(): RunListing {
    const statement = this.#database.prepare(
      'SELECT number FROM runs INDEXED BY runs_unfinished WHERE finished IS NULL ORDER BY number',
    )
    const runs: NumberedRun[] = []
    let unreadable = 0
    for (const { number } of statement.all()) {
      const found = this.#byNumberIfReadable(Number(number))
      if (found === undefined) unreadable++
      else if (found.isLost || found.stored.damage === undefined) runs.push(this.#extended(found))
    }
    return { runs, unreadable }
  }

  /** The row is written together with some of the records, so the log has at least those. */
  #extended(found: NumberedRun): NumberedRun {
    const { number, stored } = found
    if (stored.damage !== undefined) return found
    const row = this.#lastSegment.get(number)
    const last = row && segmentIn(row)
    const durable = last === undefined ? stored.first : last.first + last.count
    const damage =
      last?.isSound === false
        ? { first: last.first, last: Math.max(durable, stored.next) - 1, reason: 'do not match their checksum' }
        : durable < stored.next
          ? gapDamage(durable, stored.next - 1)
          : undefined
    return { ...found, stored: { ...stored, ...(damage === undefined ? { next: durable } : { damage }) } }
  }

  #byNumberIfReadable(number: number): NumberedRun | undefined {
    try {
      const row = this.#byNumber.get(number)
      return row && this.#runIn(row)
    } catch (cause) {
      if (isCorrupt(cause)) return undefined
      throw cause
    }
  }

  /** Undefined if nothing of the row can be trusted. */
  #runIn(row: Row): NumberedRun | undefined {
    let reading = readRow(row)
    if (reading.kind !== 'sound') {
      // The index entry may be damaged, not the row: read it without the index.
      const again = this.#byNumber.get(Number(row['number']))
      if (again !== undefined) reading = readRow(again)
    }
    if (reading.kind === 'sound') return reading.run
    return reading.kind === 'lost' ? lostRun(reading.run, this.#eventsOf(reading.run.number)) : undefined
  }

  #eventsOf(number: number): number {
    const last = this.#lastSegment.get(number)
    return last === undefined ? 1 : Number(last['first']) + Number(last['count'])
  }

  /** Filtered again: a damaged index returns wrong runs. */
  #listingOf(rows: readonly Row[], query: RunQuery): RunListing {
    const runs: NumberedRun[] = []
    let unreadable = 0
    for (const row of rows) {
      const found = this.#runIn(row)
      if (found === undefined) unreadable++
      else if (isMatch(query, found) && runs.push(found) === query.limit) break
    }
    return { runs, unreadable }
  }

  /** Part of the table cannot be read: uses an index only, and reads each row separately. */
  #listOneByOne(query: RunQuery): RunListing {
    const { createdAt, id } = query.after === undefined ? { createdAt: '\u{10ffff}', id: '' } : positionOf(query.after)
    const numbers = this.#database
      .prepare(
        `SELECT number FROM runs INDEXED BY runs_by_creation WHERE (created, id) < (?, ?)
           ORDER BY created DESC, id DESC LIMIT ${ONE_BY_ONE_MAX}`,
      )
      .all(createdAt, id)
    const runs: NumberedRun[] = []
    let unreadable = 0
    for (const { number } of numbers) {
      const found = this.#byNumberIfReadable(Number(number))
      if (found === undefined) unreadable++
      else if (isMatch(query, found) && runs.push(found) === query.limit) break
    }
    return { runs, unreadable }
  }
}

function isMatch({ owner, component, session, status, version }: RunQuery, { stored, isLost }: NumberedRun): boolean {
  const { run } = stored
  return (
    (owner === undefined || run.owner === owner) &&
    (component === undefined || run.component === component) &&
    (session === undefined || run.session === session) &&
    (status === undefined || isLost === true || status.includes(run.status)) &&
    (version === undefined || isLost === true || run.version === version)
  )
}

function whereClause(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
}

const UNSUCCESSFUL: readonly RunStatus[] = ['failed', 'cancelled', 'rejected']

/**
 * Selects the index of a listing, all of which are in its order: the one with the fewest other runs. SQLite would choose the
 * owner's, who may own every run. Without an owner, which no protocol allows, it searches all runs of a session or component.
 * `covers` makes a partial index applicable.
 */
function indexFor({ owner, component, session, status = [], version }: RunQuery): { index: string; covers?: string } {
  if (owner !== undefined && session !== undefined) return { index: 'runs_by_owner_session' }
  if (status.length > 0 && !status.some(isFinished)) return { index: 'runs_unfinished', covers: 'finished IS NULL' }
  if (status.length > 0 && status.every((each) => UNSUCCESSFUL.includes(each)))
    return { index: 'runs_unsuccessful', covers: "status IN ('failed', 'cancelled', 'rejected')" }
  if (owner !== undefined && version !== undefined)
    return { index: 'runs_by_owner_version', covers: `${VERSION} IS NOT NULL` }
  if (owner !== undefined && component !== undefined) return { index: 'runs_by_owner_component' }
  return { index: owner === undefined ? 'runs_by_creation' : 'runs_by_owner' }
}
