/**
 * The committing thread: the only writer of the database file. It takes one transaction at a time, so that what arrives
 * meanwhile rides on the next one, and its stalls (sync, checkpoint) never stop a stream.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../../core/errors.ts'
import { sliceAfter } from '../../core/record.ts'
import { Compaction, type Segment } from './compaction.ts'
import { DocumentWrites } from './document-writes.ts'
import { damageOr, openDatabase } from './file.ts'
import type { CommitReply, CommitRequest, RunRow } from './messages.ts'

/** Events of a commit for each segment that it may also write: enough to keep up, too few to stall. */
const EVENTS_PER_SEGMENT = 32
/** Segments of one transaction when there is nothing else to do. */
const SEGMENTS_MAX = 512

class Committer {
  readonly #database: DatabaseSync
  readonly #compaction = new Compaction()
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #insertLog: StatementSync
  readonly #deleteLog: StatementSync
  readonly #insertSegment: StatementSync
  readonly #upsertRun: StatementSync
  readonly #documents: DocumentWrites
  /** Pairs of run number and the index before which its records are in segments, of the commit under way. */
  readonly #sealed: number[] = []
  #seq = 0

  constructor(path: string) {
    const database = openDatabase(path)
    this.#database = database
    this.#begin = database.prepare('BEGIN IMMEDIATE')
    this.#commit = database.prepare('COMMIT')
    this.#insertLog = database.prepare('INSERT INTO log (seq, dir, data) VALUES (?, ?, ?)')
    this.#deleteLog = database.prepare('DELETE FROM log WHERE seq = ?')
    this.#insertSegment = database.prepare('INSERT INTO segments (run, first, count, data) VALUES (?, ?, ?, ?)')
    this.#upsertRun = database.prepare(
      `INSERT INTO runs (number, id, owner, component, session, status, created, finished, epoch, first, next, run, stop, idempotency_key, fingerprint)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (number) DO UPDATE SET status = excluded.status, finished = excluded.finished, epoch = excluded.epoch,
         first = excluded.first, next = excluded.next, run = excluded.run, stop = excluded.stop`,
    )
    this.#documents = new DocumentWrites(database)
    this.#recover()
  }

  /** Moves what an earlier process left in the log into segments, so that there is one place to read from. */
  #recover(): void {
    const sealed = this.#database.prepare('SELECT coalesce(max(first + count), 0) AS next FROM segments WHERE run = ?')
    for (const row of this.#database.prepare('SELECT seq, dir, data FROM log ORDER BY seq').iterate()) {
      const directory = new Int32Array((row['dir'] as Uint8Array).slice().buffer)
      const [data, rest] = unsealedPart(row['data'] as Uint8Array, directory, (run) => Number(sealed.get(run)!['next']))
      this.#seq = Number(row['seq'])
      if (rest.length > 0) this.#compaction.add(this.#seq, data, rest, 0)
    }
    for (let written = -1; written !== 0;) {
      this.#begin.run()
      written = this.#writeSegments(this.#compaction.take(SEGMENTS_MAX, true, 0))
      this.#commit.run()
    }
    this.#sealed.length = 0
    this.#database.exec('DELETE FROM log')
    // What a failed sync left only in the page cache becomes durable here, or opening fails.
    const checkpoint = this.#database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
    if (Number(checkpoint?.['busy']) !== 0) throw new Error('the database is in use')
  }

  commit(request: CommitRequest): CommitReply {
    this.#begin.run()
    try {
      const events = this.#write(request)
      const documents = request.documents.map((command) => this.#documents.apply(command))
      const most = request.compact === 'share' ? Math.max(1, Math.ceil(events / EVENTS_PER_SEGMENT)) : SEGMENTS_MAX
      const written = this.#writeSegments(this.#compaction.take(most, request.compact === 'all', Date.now()))
      this.#commit.run()
      const more = this.#compaction.more || written === SEGMENTS_MAX
      return { kind: 'committed', sealed: Int32Array.from(this.#sealed.splice(0)), more, documents }
    } catch (cause) {
      return { kind: 'failed', message: messageOf(cause) }
    }
  }

  #write(request: CommitRequest): number {
    for (const row of request.rows) {
      this.#upsertRun.run(...columns(row))
      if (row.isNew) this.#documents.touch(row)
    }
    let events = 0
    if (request.directory.length > 0) {
      this.#insertLog.run(++this.#seq, new Uint8Array(request.directory.buffer), request.data)
      this.#compaction.add(this.#seq, request.data, request.directory, Date.now())
      for (let at = 2; at < request.directory.length; at += 4) events += request.directory[at]!
    }
    for (const run of request.ended) this.#compaction.ended(run)
    for (const [run, before] of request.trimmed) this.#trim(run, before)
    for (const run of request.removed) this.#remove(run)
    return events
  }

  #trim(run: number, before: number): void {
    this.#writeSegments(this.#compaction.takeRun(run))
    this.#database.prepare('DELETE FROM segments WHERE run = ? AND first + count <= ?').run(run, before)
    const cut = this.#database
      .prepare('SELECT rowid, first, count, data FROM segments WHERE run = ? AND first < ?')
      .get(run, before)
    if (cut === undefined) return
    const whole = {
      first: Number(cut['first']),
      count: Number(cut['count']),
      bytes: cut['data'] as Uint8Array,
      closed: false,
    }
    const { first, count, bytes } = sliceAfter(whole, before - 1)
    this.#database
      .prepare('UPDATE segments SET first = ?, count = ?, data = ? WHERE rowid = ?')
      .run(first, count, bytes, Number(cut['rowid']))
  }

  #remove(run: number): void {
    this.#compaction.takeRun(run)
    this.#database.prepare('DELETE FROM segments WHERE run = ?').run(run)
    this.#database.prepare('DELETE FROM runs WHERE number = ?').run(run)
  }

  #writeSegments(segments: readonly Segment[]): number {
    for (const { run, first, count, bytes } of segments) {
      this.#insertSegment.run(run, first, count, bytes)
      this.#sealed.push(run, first + count)
    }
    for (const seq of this.#compaction.takeFreed()) this.#deleteLog.run(seq)
    return segments.length
  }

  close(): void {
    this.#database.close()
  }
}

/** Leaves out the records that an earlier compaction has already moved. */
function unsealedPart(
  data: Uint8Array,
  directory: Int32Array,
  sealedBefore: (run: number) => number,
): [Uint8Array, Int32Array] {
  const parts: Uint8Array[] = []
  const rest: number[] = []
  for (let at = 0, offset = 0; at < directory.length; at += 4) {
    const [run, first, count, bytes] = [directory[at]!, directory[at + 1]!, directory[at + 2]!, directory[at + 3]!]
    if (first >= sealedBefore(run)) {
      parts.push(data.subarray(offset, offset + bytes))
      rest.push(run, first, count, bytes)
    }
    offset += bytes
  }
  return [Buffer.concat(parts), Int32Array.from(rest)]
}

function columns(row: RunRow): (string | number | null)[] {
  return [
    row.number, row.id, row.owner, row.component, row.session, row.status, row.created, row.finished,
    row.epoch, row.first, row.next, row.run, row.stop, row.idempotencyKey, row.fingerprint,
  ] // prettier-ignore
}

function serve(port: MessagePort, path: string): void {
  const reply = (message: CommitReply): void => port.postMessage(message)
  let committer: Committer
  try {
    committer = new Committer(path)
  } catch (cause) {
    reply({ kind: 'failed', message: messageOf(damageOr(path, cause)) })
    port.close()
    return
  }
  reply({ kind: 'opened' })
  port.on('message', (request: CommitRequest | 'close') => {
    const answer = request === 'close' ? undefined : committer.commit(request)
    if (answer !== undefined) reply(answer)
    // After a failure nothing in memory can be trusted: the store opens the file anew.
    if (answer?.kind === 'committed') return
    committer.close()
    port.close()
  })
}

if (parentPort !== null) serve(parentPort, (workerData as { path: string }).path)
