/** Checks a whole file for damage (`holdfast doctor`). Read-only. */
import { DatabaseSync } from 'node:sqlite'
import { messageOf } from '../../../core/model/errors.ts'
import { isFinished } from '../../../core/model/run.ts'
import { lossText, lostSince, readCommitRecord } from './commit-record.ts'
import { isSoundDocument } from '../tables/document-rows.ts'
import { entriesOf } from '../tables/log-rows.ts'
import { damageLine, gapDamage } from '../tables/quarantine.ts'
import { highestRunNumber } from '../tables/run-numbers.ts'
import { type NumberedRun, readRow, type Row } from '../tables/run-rows.ts'
import { migrate } from '../tables/schema.ts'
import { segmentIn } from '../tables/segment.ts'

export interface Examination {
  /** The first problems. */
  readonly problems: readonly string[]
  readonly problemCount: number
  /** Rows of an older version, without a checksum. */
  readonly unverified: number
}

/** Maximum problems that are listed. Further problems are only counted. */
const NAMED_MAX = 20

export function examineFile(database: DatabaseSync, path: string): Examination {
  const walk = new Walk(database, path)
  walk.run()
  return walk.examination
}

/** Verifies the checksums of a file and that nothing is missing. For a file of the current schema. */
export function examineContents(database: DatabaseSync, path: string): Examination {
  const walk = new Walk(database, path)
  walk.contents()
  return walk.examination
}

class Walk {
  readonly #problems: string[] = []
  #problemCount = 0
  #unverified = 0
  readonly #database: DatabaseSync
  readonly #path: string
  /** Numbers of removed runs whose segments are still being deleted. */
  readonly #removed = new Set<number>()
  /** By run number: index after the last record in the log. */
  readonly #logEnds = new Map<number, number>()

  constructor(database: DatabaseSync, path: string) {
    this.#database = database
    this.#path = path
  }

  get examination(): Examination {
    return { problems: this.#problems, problemCount: this.#problemCount, unverified: this.#unverified }
  }

  run(): void {
    this.#section('the database', () => this.#structure())
    this.#section('the schema', () => this.#schema())
    this.contents()
    this.#section('the commits', () => this.#commits())
  }

  contents(): void {
    this.#section('the log', () => this.#log())
    this.#section('the runs', () => this.#runs())
    this.#section('the documents', () => this.#documents())
  }

  #report(problem: string): void {
    this.#problemCount++
    if (this.#problems.length < NAMED_MAX) this.#problems.push(problem)
  }

  /** If one section cannot be read, the others still are. */
  #section(name: string, look: () => void): void {
    try {
      look()
    } catch (cause) {
      this.#report(`${name} cannot be read: ${messageOf(cause)}`)
    }
  }

  #structure(): void {
    for (const { integrity_check: found } of this.#database.prepare(`PRAGMA integrity_check(${NAMED_MAX})`).all())
      if (found !== 'ok') this.#report(`SQLite: ${String(found)}`)
  }

  /** Triggers and indexes depend on their definitions, which have no checksum. */
  #schema(): void {
    const found = definitionsIn(this.#database)
    using expected = new DatabaseSync(':memory:')
    migrate(expected, this.#path)
    for (const [name, definition] of definitionsIn(expected)) {
      if (found.get(name) === definition) continue
      this.#report(`the schema: ${name} ${found.has(name) ? 'is not what this version made' : 'is missing'}`)
    }
  }

  #log(): void {
    for (const row of this.#database.prepare('SELECT * FROM log ORDER BY seq').iterate()) {
      if (row['crcs'] === null) this.#unverified++
      for (const { number, first, count, isSound } of entriesOf(row)) {
        if (isSound) this.#logEnds.set(number, Math.max(this.#logEnds.get(number) ?? 0, first + count))
        else this.#report(`commit ${String(row['seq'])}: the records of run number ${number} are damaged`)
      }
    }
  }

  /** Merges runs and segments, both in order of run number. */
  #runs(): void {
    for (const { run } of this.#database.prepare('SELECT run FROM deletions WHERE before IS NULL').iterate())
      this.#removed.add(Number(run))
    const segments = this.#database.prepare('SELECT * FROM segments ORDER BY run, first').iterate()
    let segment = next(segments)
    for (const row of this.#database.prepare('SELECT * FROM runs NOT INDEXED ORDER BY number').iterate()) {
      const number = Number(row['number'])
      for (; segment !== undefined && Number(segment['run']) < number; segment = next(segments)) this.#orphan(segment)
      const found = this.#runIn(row)
      let end = found?.stored.first ?? 0
      for (; segment !== undefined && Number(segment['run']) === number; segment = next(segments))
        end = this.#segment(segment, found, end)
      if (found !== undefined) this.#end(found, end)
    }
    for (; segment !== undefined; segment = next(segments)) this.#orphan(segment)
  }

  #runIn(row: Row): NumberedRun | undefined {
    const reading = readRow(row)
    if (row['crc'] === null) this.#unverified++
    if (reading.kind !== 'sound') {
      this.#report(`the row of run ${reading.kind === 'lost' ? reading.run.id : `number ${reading.number}`} is damaged`)
      return undefined
    }
    const { id } = reading.run.stored.run
    const { damage } = reading.run.stored
    if (damage !== undefined) this.#report(damageLine(id, damage))
    return reading.run
  }

  /** Returns the index that the next segment must start with. */
  #segment(row: Row, found: NumberedRun | undefined, expected: number): number {
    const { first, count, isSound } = segmentIn(row)
    const name = found?.stored.run.id ?? `number ${String(row['run'])}`
    if (row['crc'] === null) this.#unverified++
    if (!isSound) this.#report(`run ${name}: events ${first} to ${first + count - 1} are damaged`)
    else if (found !== undefined && first > expected) this.#missing(name, expected, first - 1)
    return isSound ? first + count : Math.max(expected, first + count)
  }

  /** A finished run's log is as long as its row says; another's may be longer. */
  #end({ number, stored }: NumberedRun, segmentsEnd: number): void {
    if (stored.damage !== undefined) return
    const end = Math.max(segmentsEnd, this.#logEnds.get(number) ?? 0)
    if (end < stored.next) this.#missing(stored.run.id, end, stored.next - 1)
    else if (isFinished(stored.run.status) && end > stored.next)
      this.#report(`run ${stored.run.id} has events after its last one, ${stored.next - 1}`)
  }

  #missing(id: string, first: number, last: number): void {
    this.#report(`run ${id}: events ${first} to ${last} ${gapDamage(first, last).reason}`)
  }

  #orphan(row: Row): void {
    if (this.#removed.has(Number(row['run']))) return
    this.#report(`the row of run number ${String(row['run'])} is missing: its events are there`)
  }

  #documents(): void {
    for (const row of this.#database.prepare('SELECT * FROM documents').iterate()) {
      if (row['crc'] === null) this.#unverified++
      if (!isSoundDocument(row))
        this.#report(`document ${String(row['id'])} of ${String(row['collection'])} is damaged`)
    }
  }

  #commits(): void {
    const record = readCommitRecord(this.#path)
    const token = this.#database.prepare('SELECT token FROM instance').get()?.['token'] as string | undefined
    const commit = Number(this.#database.prepare('SELECT max(seq) AS seq FROM log').get()?.['seq'] ?? 0)
    const lost = lostSince(record?.last, { token, commit, run: highestRunNumber(this.#database) }) ?? record?.lost
    if (lost !== undefined) this.#report(lossText(lost))
  }
}

/** Definitions of tables, indexes and triggers by type and name. SQLite's automatic ones have no text. */
function definitionsIn(database: DatabaseSync): Map<string, string | null> {
  const rows = database.prepare('SELECT type, name, sql FROM sqlite_schema').all()
  return new Map(rows.map(({ type, name, sql }) => [`${String(type)} ${String(name)}`, sql as string | null]))
}

function next(rows: NodeJS.Iterator<Row>): Row | undefined {
  const { done, value } = rows.next()
  return done ? undefined : value
}
