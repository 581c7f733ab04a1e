/** Executes the transactions of the committing thread, one at a time, so that later changes join the next one. */
import { statSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { isHoldfastError, detailOf } from '../../../core/model/errors.ts'
import type { LogDamage } from '../../../core/ports/store.ts'
import { checkpointAll } from './checkpoint.ts'
import { Compaction, type Segment, type CompactionShare } from './compaction.ts'
import { DocumentWrites } from './document-writes.ts'
import { assertInPlace, type FileIdentity, identityOf } from '../file/file-identity.ts'
import { openDatabase, reopenDatabase } from '../file/database-file.ts'
import { FencedError, FileInstance } from '../file/instance.ts'
import { CommitRecord, type LostCommits, lostSince, readCommitRecord } from '../file/commit-record.ts'
import { LogWrites } from './log-writes.ts'
import type { CommitReply, CommitRequest, QuarantinedRun, ThreadOptions } from './committing-messages.ts'
import { Quarantine, UNREADABLE } from '../tables/quarantine.ts'
import { type RecoveryResult, LogRecovery } from './recovery.ts'
import { highestRunNumber, RunNumbers } from '../tables/run-numbers.ts'
import { columnsOf, UPSERT_RUN } from '../tables/run-rows.ts'
import { SegmentDeletion } from './segment-deletion.ts'
import { SegmentWrites } from './segment-writes.ts'
import { isConstraintViolation, isCorrupt } from '../file/sqlite-errors.ts'
import { Vacuum } from './vacuum.ts'

/** Bytes that a commit may compact per byte written: more than one, so that a backlog shrinks. */
const SHARE_FACTOR = 2
/** Minimum that a commit may compact: a segment or two. */
const SHARE_BYTES_MIN = 16 * 1024
/** Compaction of one idle transaction. */
const IDLE_SHARE = { bytes: 4 * 1024 * 1024, segments: 512 }

export class Committer {
  readonly identity: FileIdentity
  readonly #path: string
  readonly #walWarningBytes: number
  readonly #database: DatabaseSync
  readonly #instance: FileInstance
  readonly #compaction = new Compaction()
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #log: LogWrites
  readonly #segments: SegmentWrites
  readonly #deletion: SegmentDeletion
  readonly #upsertRun: StatementSync
  readonly #documents: DocumentWrites
  readonly #vacuum: Vacuum
  readonly #numbers: RunNumbers
  readonly #quarantine: Quarantine
  /** Pairs of run number and the index before which its records are in segments, for the current commit. */
  readonly #sealed: number[] = []
  /** Runs that the current commit found damaged. */
  readonly #quarantined: QuarantinedRun[] = []
  /** The run that the current commit trims or removes. */
  #changed: number | undefined
  #highestNumber: number
  readonly #record: CommitRecord
  /** Problems found while opening. */
  readonly warnings: readonly string[]
  readonly lost: LostCommits | undefined

  constructor(options: ThreadOptions, onWaiting: (message: string) => void) {
    const { path, token, reopen, walWarningBytes } = options
    // Checked before opening: a missing file is reported by name, another one is not touched.
    if (reopen !== undefined) assertInPlace(path, reopen)
    const database = reopen === undefined ? openDatabase(path) : reopenDatabase(path)
    this.#database = database
    this.#path = path
    this.#walWarningBytes = walWarningBytes
    this.identity = reopen ?? identityOf(path)!
    this.#instance = new FileInstance(database, token)
    const openedBefore = this.#instance.current()
    // Before the log is read: earlier owners of the file can no longer write.
    if (reopen === undefined) this.#instance.take()
    this.#begin = database.prepare('BEGIN IMMEDIATE')
    this.#commit = database.prepare('COMMIT')
    this.#segments = new SegmentWrites(database)
    this.#deletion = new SegmentDeletion(database)
    this.#upsertRun = database.prepare(UPSERT_RUN)
    this.#documents = new DocumentWrites(database)
    this.#vacuum = new Vacuum(database)
    const recovered = this.#recover(options, onWaiting)
    this.warnings = recovered.warnings
    this.#log = new LogWrites(database, recovered.seq)
    this.#numbers = new RunNumbers(database)
    this.#quarantine = new Quarantine(database)
    this.#highestNumber = highestRunNumber(database)
    this.#record = new CommitRecord(path, token)
    this.lost = this.#findLoss(openedBefore)
  }

  /** Removed runs have segments that are still to be deleted. */
  get isDeleting(): boolean {
    return this.#deletion.more
  }

  /** Compares the file with the record of its last commit, and continues counting after both. */
  #findLoss(token: string | undefined): LostCommits | undefined {
    const last = readCommitRecord(this.#path)?.last
    const lost = lostSince(last, { token, commit: this.#log.seq, run: this.#highestNumber })
    if (lost !== undefined) {
      this.#record.lost(lost)
      this.#transaction(() => this.#log.skipTo(lost.last))
    }
    this.#record.write(this.#log.seq, this.#highestNumber)
    return lost
  }

  #recover({ path, readerTimeoutMs }: ThreadOptions, onWaiting: (message: string) => void): RecoveryResult {
    const transaction = (work: () => void): void => this.#transaction(work)
    this.#segments.cutGiants(transaction)
    const recovered = new LogRecovery(this.#database, this.#segments, transaction).recover()
    // Pages that a failed sync left only in the page cache become durable here, or opening fails.
    checkpointAll(this.#database, path, readerTimeoutMs, onWaiting)
    return recovered
  }

  #transaction(work: () => void): void {
    this.#beginOwned()
    work()
    this.#commit.run()
  }

  /** Begins a transaction, which only the file's owner may do. */
  #beginOwned(): void {
    this.#begin.run()
    this.#instance.assertCurrent()
  }

  commit(request: CommitRequest): CommitReply {
    try {
      const unremovable = request.removed.flatMap(({ number, isDamaged }) =>
        isDamaged && this.#isUnremovable(number) ? number : [],
      )
      this.#beginOwned()
      this.#write(request, unremovable)
      const documents = request.documents.map((command) => this.#documents.apply(command))
      const share = shareOf(request)
      const written = this.#writeSegments(this.#compaction.take(share, performance.now()))
      this.#deletion.run(request.compact !== 'share')
      this.#vacuum.run(request.compact !== 'share')
      this.#commit.run()
      assertInPlace(this.#path, this.identity) // otherwise the commit would be durable in a file that nobody reads
      if (request.compact === 'share') this.#record.write(this.#log.seq, this.#highestNumber)
      const compacted = written.bytes >= share.bytes || written.segments >= share.segments
      const isDeleting = this.#deletion.more
      const more = compacted || this.#compaction.more || isDeleting || this.#vacuum.more
      const sealed = Int32Array.from(this.#sealed.splice(0))
      const quarantined = this.#quarantined.splice(0)
      return { kind: 'committed', sealed, more, isDeleting, documents, quarantined, unremovable }
    } catch (cause) {
      if (isCorrupt(cause)) this.#contain()
      return failure(cause)
    }
  }

  /** Checks that this process still owns the file and that its journal can be checkpointed. */
  check(): CommitReply {
    try {
      this.#beginOwned()
      this.#database.exec('ROLLBACK')
      assertInPlace(this.#path, this.identity)
      return { kind: 'checked', pinnedBytes: this.#pinnedBytes() }
    } catch (cause) {
      return failure(cause)
    }
  }

  #pinnedBytes(): number {
    const bytes = statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0
    if (bytes < this.#walWarningBytes) return 0
    const checkpoint = this.#database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get()!
    return Number(checkpoint['checkpointed']) < Number(checkpoint['log']) ? bytes : 0
  }

  #write(request: CommitRequest, unremovable: readonly number[]): void {
    for (const row of request.rows) {
      this.#upsertRun.run(...columnsOf(row))
      if (row.isNew) this.#documents.touch(row)
      this.#highestNumber = Math.max(this.#highestNumber, row.number)
    }
    const { directory, data } = request
    if (request.compact === 'share') this.#log.add(directory, data)
    if (directory.length > 0) this.#compaction.add(this.#log.seq, data, directory, performance.now())
    for (const run of request.ended) this.#compaction.ended(run)
    for (const [run, before] of request.trimmed) this.#trim(run, before)
    for (const { number, id, damage } of request.quarantined) this.#quarantine.add(number, id, damage)
    for (const { number } of request.removed) if (!unremovable.includes(number)) this.#remove(number)
  }

  #trim(run: number, before: number): void {
    this.#writeSegments(this.#compaction.takeRun(run))
    const damaged = this.#changing(run, () => {
      this.#deletion.trim(run, before)
      return this.#segments.cut(run, before)
    })
    if (damaged === undefined) return
    const { first, count } = damaged
    this.#quarantineRun(run, { first, last: first + count - 1, reason: 'do not match their checksum' })
  }

  #remove(run: number): void {
    this.#compaction.drop(run)
    this.#changing(run, () => {
      this.#deletion.remove(run)
      this.#deleteRow(run)
    })
    this.#numbers.removed(run)
  }

  #deleteRow(run: number): void {
    this.#database.prepare('DELETE FROM runs WHERE number = ?').run(run)
  }

  /** Notes which run is at fault if the work meets a damaged page. */
  #changing<Result>(run: number, work: () => Result): Result {
    this.#changed = run
    const result = work()
    this.#changed = undefined
    return result
  }

  /** Tries it in a transaction of its own: after it met a damaged page, a transaction accepts no further writes. */
  #isUnremovable(run: number): boolean {
    this.#beginOwned()
    try {
      this.#segments.remove(run)
      this.#deleteRow(run)
      return false
    } catch (cause) {
      if (!isCorrupt(cause)) throw cause
      return true
    } finally {
      this.#database.exec('ROLLBACK')
    }
  }

  /** The commit has met a damaged page. Keeps the next attempt to change, delete or move the same from failing another one. */
  #contain(): void {
    const [changed, deleted] = [this.#changed, this.#deletion.current]
    try {
      this.#database.exec('ROLLBACK')
      if (deleted !== undefined) this.#transaction(() => this.#deletion.giveUp(deleted))
      else if (changed !== undefined) this.#markUnreadable(changed)
      else if (this.#vacuum.hasFailed) this.#transaction(() => this.#vacuum.stop())
    } catch {
      // The store reopens the file, and reports what is wrong with it.
    }
  }

  #markUnreadable(number: number): void {
    const run = this.#runOf(number)
    if (run === undefined) return
    const damage = { first: run.first, last: run.next - 1, reason: UNREADABLE }
    this.#transaction(() => this.#quarantine.add(number, run.id, damage))
  }

  #writeSegments(segments: readonly Segment[]): { readonly bytes: number; readonly segments: number } {
    let bytes = 0
    for (const segment of segments) {
      bytes += segment.bytes.length
      this.#insert(segment)
      this.#sealed.push(segment.run, segment.first + segment.count)
    }
    for (const seq of this.#compaction.takeFreed()) this.#log.free(seq)
    return { bytes, segments: segments.length }
  }

  /** A duplicate segment is a bug. It costs only its run, not the store. */
  #insert(segment: Segment): void {
    const { run, first, count } = segment
    try {
      this.#segments.insert(run, segment)
    } catch (cause) {
      if (!isConstraintViolation(cause)) throw cause
      this.#quarantineRun(run, { first, last: first + count - 1, reason: 'were written twice' })
    }
  }

  #quarantineRun(number: number, damage: LogDamage): void {
    const run = this.#runOf(number)
    if (run === undefined) return
    this.#quarantine.add(number, run.id, damage)
    this.#quarantined.push({ number, id: run.id, damage })
  }

  #runOf(number: number): { readonly id: string; readonly first: number; readonly next: number } | undefined {
    const row = this.#database.prepare('SELECT id, first, next FROM runs WHERE number = ?').get(number)
    return row && { id: String(row['id']), first: Number(row['first']), next: Number(row['next']) }
  }

  close(): void {
    this.#database.close()
    this.#record.close()
  }
}

function shareOf({ compact, data }: CommitRequest): CompactionShare {
  if (compact !== 'share') return { ...IDLE_SHARE, all: compact === 'all' }
  const bytes = Math.max(SHARE_FACTOR * data.length, SHARE_BYTES_MIN)
  return { bytes, segments: Infinity, all: false }
}

export function failure(cause: unknown): CommitReply {
  const because = cause instanceof FencedError ? 'fenced' : isHoldfastError(cause, 'unavailable') ? 'busy' : 'fault'
  return { kind: 'failed', message: detailOf(cause), because }
}
