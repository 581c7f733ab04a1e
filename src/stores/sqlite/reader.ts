/** Reads what is durable, through a connection of its own: a reader never waits for a commit. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { faultAfter } from '../../core/log-read.ts'
import { type Position, positionOf } from '../../core/page.ts'
import { isFinished, type Run, type RunStatus } from '../../core/run.ts'
import type { LogDamage, RunQuery, StopRequest, StoredRun } from '../../core/store.ts'
import { DocumentReader } from './document-reader.ts'
import { connect } from './file.ts'
import { gapDamage } from './quarantine.ts'
import { highestRunNumber } from './run-numbers.ts'
import { UsageReader } from './usage-reader.ts'

export interface NumberedRun {
  readonly number: number
  readonly stored: StoredRun
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | undefined
}

export interface StoredSegment {
  readonly first: number
  readonly count: number
  readonly bytes: Uint8Array
}

type Row = Record<string, unknown>

export class Reader {
  readonly documents: DocumentReader
  readonly usage: UsageReader
  readonly #database: DatabaseSync
  readonly #byId: StatementSync
  readonly #byKey: StatementSync
  readonly #segments: StatementSync

  constructor(path: string) {
    this.#database = connect(path)
    this.documents = new DocumentReader(this.#database)
    this.usage = new UsageReader(this.#database)
    this.#byId = this.#database.prepare('SELECT * FROM runs WHERE id = ?')
    this.#byKey = this.#database.prepare('SELECT * FROM runs WHERE owner = ? AND idempotency_key = ?')
    this.#segments = this.#database.prepare(
      `SELECT first, count, data FROM segments WHERE run = ?1
         AND first >= (SELECT coalesce(max(first), 0) FROM segments WHERE run = ?1 AND first <= ?2) ORDER BY first`,
    )
  }

  run(id: string): NumberedRun | undefined {
    return numbered(this.#byId.get(id))
  }

  runByKey(owner: string, key: string): NumberedRun | undefined {
    return numbered(this.#byKey.get(owner, key))
  }

  /** Segments from the one that holds an index on, until they have enough bytes. */
  segments(run: number, from: number, bytesMax: number): StoredSegment[] {
    const segments: StoredSegment[] = []
    let bytes = 0
    for (const row of this.#segments.iterate(run, from)) {
      const data = row['data'] as Uint8Array
      segments.push({ first: row['first'] as number, count: row['count'] as number, bytes: data })
      bytes += data.length
      if (bytes >= bytesMax) break
    }
    return segments
  }

  list(query: RunQuery): NumberedRun[] {
    const conditions: string[] = []
    const values: (string | number)[] = []
    for (const column of ['owner', 'component', 'session'] as const) {
      const value = query[column]
      if (value === undefined) continue
      conditions.push(`${column} = ?`)
      values.push(value)
    }
    const { index, covers } = indexFor(query)
    if (covers !== undefined) conditions.push(covers)
    if (query.status !== undefined) {
      conditions.push(`status IN (${query.status.map(() => '?').join(', ')})`)
      values.push(...query.status)
    }
    if (query.after !== undefined) {
      conditions.push('(created, id) < (?, ?)')
      const { createdAt, id } = positionOf(query.after)
      values.push(createdAt, id)
    }
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
    const rows = this.#database
      .prepare(`SELECT * FROM runs INDEXED BY ${index} ${where} ORDER BY created DESC, id DESC LIMIT ?`)
      .all(...values, query.limit)
    return rows.map((row) => numbered(row)!)
  }

  /** Runs that follow a place, oldest first. */
  following(limit: number, after: Position | undefined): NumberedRun[] {
    const where = after === undefined ? '' : 'WHERE (created, id) > (?, ?)'
    return this.#database
      .prepare(`SELECT * FROM runs ${where} ORDER BY created, id LIMIT ?`)
      .all(...(after === undefined ? [] : [after.createdAt, after.id]), limit)
      .map((row) => numbered(row)!)
  }

  /** Finished runs of an owner that follow a place, oldest first, each with the bytes of its segments. */
  finished(owner: string, limit: number, after: Position | undefined): (NumberedRun & { readonly bytes: number })[] {
    const where = after === undefined ? '' : 'AND (created, id) > (?, ?)'
    return this.#database
      .prepare(
        `SELECT *, (SELECT coalesce(sum(length(data)), 0) FROM segments WHERE run = number) AS bytes
         FROM runs INDEXED BY runs_by_owner WHERE owner = ? AND finished IS NOT NULL ${where} ORDER BY created, id LIMIT ?`,
      )
      .all(owner, ...(after === undefined ? [] : [after.createdAt, after.id]), limit)
      .map((row) => ({ ...numbered(row)!, bytes: Number(row['bytes']) }))
  }

  unfinished(): NumberedRun[] {
    const next = this.#database.prepare(
      'SELECT first + count AS next FROM segments WHERE run = ? ORDER BY first DESC LIMIT 1',
    )
    return this.#database
      .prepare('SELECT * FROM runs WHERE finished IS NULL AND damage IS NULL ORDER BY created, id')
      .all()
      .map((row) => {
        const found = numbered(row)!
        const { stored } = found
        const durable = Number(next.get(found.number)?.['next'] ?? stored.first)
        // The row is written with some of the records, so that the log has at least those.
        if (durable >= stored.next) return { ...found, stored: { ...stored, next: durable } }
        return { ...found, stored: { ...stored, damage: gapDamage(durable, stored.next - 1) } }
      })
  }

  highestNumber(): number {
    return highestRunNumber(this.#database)
  }

  /** Bytes in use, free pages not counted. */
  size(): number {
    const value = (name: string): number => Number(this.#database.prepare(`PRAGMA ${name}`).get()![name])
    return (value('page_count') - value('freelist_count')) * value('page_size')
  }

  close(): void {
    this.#database.close()
  }
}

const UNSUCCESSFUL: readonly RunStatus[] = ['failed', 'cancelled', 'rejected']

/**
 * Which index a listing goes by, all of which are in its order: the one that fewest other runs are in. SQLite would take that of
 * the owner, who may have every run there is. Without an owner, which no caller of a protocol does, a session or component is looked for
 * among all. `covers` is what makes a partial index one that will do.
 */
function indexFor({ owner, component, session, status = [] }: RunQuery): { index: string; covers?: string } {
  if (owner !== undefined && session !== undefined) return { index: 'runs_by_owner_session' }
  if (status.length > 0 && !status.some(isFinished)) return { index: 'runs_unfinished', covers: 'finished IS NULL' }
  if (status.length > 0 && status.every((each) => UNSUCCESSFUL.includes(each)))
    return { index: 'runs_unsuccessful', covers: "status IN ('failed', 'cancelled', 'rejected')" }
  if (owner !== undefined && component !== undefined) return { index: 'runs_by_owner_component' }
  return { index: owner === undefined ? 'runs_by_creation' : 'runs_by_owner' }
}

function numbered(row: Row | undefined): NumberedRun | undefined {
  if (row === undefined) return undefined
  const stop = row['stop'] as string | null
  const damage = row['damage'] as string | null
  const key = row['idempotency_key'] as string | null
  return {
    number: row['number'] as number,
    stored: {
      run: JSON.parse(row['run'] as string) as Run,
      first: row['first'] as number,
      next: row['next'] as number,
      epoch: row['epoch'] as number,
      ...(stop !== null && { stop: JSON.parse(stop) as StopRequest }),
      ...(damage !== null && { damage: JSON.parse(damage) as LogDamage }),
    },
    idempotency: key === null ? undefined : { key, fingerprint: row['fingerprint'] as string },
  }
}

/** Index of the first record that is missing or of another run, in segments that should have those from an index on. */
export function firstWrong(segments: readonly StoredSegment[], run: string, from: number): number | undefined {
  let next = segments[0]?.first ?? from
  if (next > from) return from
  for (const segment of segments) {
    if (faultAfter(run, next - 1, { ...segment, closed: false }) !== undefined) return Math.max(next, from)
    next += segment.count
  }
  return next > from ? undefined : from
}
