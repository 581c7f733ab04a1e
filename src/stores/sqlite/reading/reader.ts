/** Reads durable data through its own connection: readers never wait for a commit. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { sliceFault, faultIn } from '../../../core/delivery/read-log.ts'
import type { LogDamage } from '../../../core/ports/store.ts'
import { DocumentReader } from './document-reader.ts'
import { connectForReading } from '../file/database-file.ts'
import { highestRunNumber } from '../tables/run-numbers.ts'
import { type RunListing, RunRowReader } from './run-row-reader.ts'
import type { NumberedRun } from '../tables/run-rows.ts'
import { segmentIn, type StoredSegment } from '../tables/segment.ts'
import { UsageReader } from './usage-reader.ts'

export interface OpenResult {
  readonly highestNumber: number
  readonly damagedRuns: number
  readonly unfinished: RunListing
}

export interface CreationCheck {
  readonly isTaken: boolean
  readonly known: NumberedRun | undefined
}

export class Reader {
  readonly documents: DocumentReader
  readonly runs: RunRowReader
  readonly usage: UsageReader
  readonly #database: DatabaseSync
  readonly #segments: StatementSync

  constructor(path: string) {
    this.#database = connectForReading(path)
    this.documents = new DocumentReader(this.#database)
    this.runs = new RunRowReader(this.#database)
    this.usage = new UsageReader(this.#database)
    this.#segments = this.#database.prepare(
      `SELECT * FROM segments WHERE run = ?1
         AND first >= (SELECT coalesce(max(first), 0) FROM segments WHERE run = ?1 AND first <= ?2) ORDER BY first`,
    )
  }

  /** Segments from the one with `from` on, while another one of the same size fits. */
  segments(run: number, from: number, maxBytes: number): StoredSegment[] {
    const segments: StoredSegment[] = []
    let bytes = 0
    for (const row of this.#segments.iterate(run, from)) {
      const segment = segmentIn(row)
      segments.push(segment)
      bytes += segment.bytes.length
      if (bytes + segment.bytes.length > maxBytes || !segment.isSound) break
    }
    return segments
  }

  /** Everything the store must know of the file before it accepts commands. */
  opening(): OpenResult {
    return {
      highestNumber: highestRunNumber(this.#database),
      damagedRuns: this.#damagedRuns(),
      unfinished: this.runs.unfinished(),
    }
  }

  /** Conflicts of a new run: a run with its id, or with its idempotency key. */
  checkCreation(id: string, owner: string, key: string | undefined): CreationCheck {
    const known = key === undefined ? undefined : this.runs.byKey(owner, key)
    return { isTaken: known === undefined && this.runs.byId(id) !== undefined, known }
  }

  /** Number of runs marked as damaged. */
  #damagedRuns(): number {
    return Number(
      this.#database
        .prepare('SELECT count(*) AS runs FROM runs INDEXED BY runs_damaged WHERE damage IS NOT NULL')
        .get()!['runs'],
    )
  }

  /** Bytes in use, without free pages and segments that are being deleted. */
  size(): number {
    const value = (name: string): number => Number(this.#database.prepare(`PRAGMA ${name}`).get()![name])
    const { bytes } = this.#database.prepare('SELECT coalesce(sum(bytes), 0) AS bytes FROM deletions').get()!
    return (value('page_count') - value('freelist_count')) * value('page_size') - Number(bytes)
  }

  close(): void {
    this.#database.close()
  }
}

/** The damage in segments that should hold a run's records from an index on; undefined if there is none. */
export function damageIn(segments: readonly StoredSegment[], run: string, from: number): LogDamage | undefined {
  const reason = 'do not match their checksum'
  let next = segments[0]?.first ?? from
  if (next > from) return { first: from, last: next - 1, reason: 'are missing from the log' }
  for (const segment of segments) {
    if (segment.first !== next) return { first: next, last: segment.first - 1, reason: 'are missing from the log' }
    const last = segment.first + segment.count - 1
    if (!segment.isSound || faultOf(segment, run) !== undefined) return { first: next, last, reason }
    next += segment.count
  }
  return next > from ? undefined : { first: from, last: from, reason: 'are missing from the log' }
}

/** With a valid checksum, checking the ends suffices; without one, every record is checked. */
function faultOf(segment: StoredSegment, run: string): string | undefined {
  const slice = { ...segment, closed: false }
  return segment.hasChecksum ? sliceFault(run, slice.first - 1, slice) : faultIn(run, slice)
}
