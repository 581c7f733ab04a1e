/**
 * Tracks which records are still in `log` rows and which to move into segments next. Lives in the committing thread. Work is
 * split into shares: runs of equal pace fill their segments together, and moving all of them in one commit would stall every
 * stream.
 */
import { Fifo } from '../fifo.ts'
import { firstSegment, SEGMENT_BYTES, SEGMENT_RECORDS, segmentsOf } from '../tables/segment.ts'
import { Tail } from '../runs/tail.ts'

/** A run's records in log rows. */
interface UnsealedRecords {
  readonly run: number
  readonly records: Tail
  /** The log rows with its records, oldest first. */
  readonly entries: Fifo<Entry>
  /** The log is complete: the rest makes a segment, however small. */
  ended: boolean
  queued: boolean
}

/** A run's part of a log row. */
interface Entry {
  readonly row: LogRow
  /** Index after its last record. */
  readonly end: number
}

interface LogRow {
  readonly seq: number
  /** As written (`CommitRequest`). */
  readonly directory: Int32Array
  /** Runs with records here that are not in a segment yet. */
  left: number
  /** Directory entries before this index are all done. */
  searched: number
  readonly addedAt: number
}

/** A segment to write. */
export interface Segment {
  readonly run: number
  readonly first: number
  readonly count: number
  readonly bytes: Uint8Array
}

/** Compaction budget of one commit. */
export interface CompactionShare {
  readonly bytes: number
  readonly segments: number
  /** Includes runs with few records. */
  readonly all: boolean
}

/** A log row that is older is freed even if that makes short segments. */
const ROW_AGE_MS = 10_000
const ROWS_MAX = 8192
/** Above this backlog, rows of any age are freed. */
const BACKLOG_BYTES = 16 * 1024 * 1024

export class Compaction {
  readonly #runs = new Map<number, UnsealedRecords>()
  /** Oldest first, including some that are freed. */
  readonly #rows = new Fifo<LogRow>()
  readonly #ready = new Fifo<UnsealedRecords>()
  #freed: number[] = []
  #rowsLeft = 0
  #bytes = 0

  add(seq: number, data: Uint8Array, directory: Int32Array, now: number): void {
    const row: LogRow = { seq, directory, left: directory.length / 4, searched: 0, addedAt: now }
    for (let at = 0, offset = 0; at < directory.length; at += 4) {
      const [run, first, count, bytes] = [directory[at]!, directory[at + 1]!, directory[at + 2]!, directory[at + 3]!]
      const unsealed = this.#of(run)
      unsealed.records.push({ first, count, bytes: data.subarray(offset, offset + bytes) })
      unsealed.entries.push({ row, end: first + count })
      offset += bytes
      if (isReady(unsealed)) this.#enqueue(unsealed)
    }
    this.#bytes += data.length
    this.#rows.push(row)
    this.#rowsLeft++
  }

  /** The log of a run is complete. */
  ended(run: number): void {
    const unsealed = this.#runs.get(run)
    if (unsealed === undefined) return
    unsealed.ended = true
    this.#enqueue(unsealed)
  }

  /** Takes all remaining records of a run at once. */
  takeRun(run: number): Segment[] {
    const unsealed = this.#runs.get(run)
    if (unsealed === undefined) return []
    const segments = [...segmentsOf(unsealed.records.slice())].map((segment) => ({ run, ...segment }))
    this.drop(run)
    return segments
  }

  /** Drops the remaining records of a run. */
  drop(run: number): void {
    const unsealed = this.#runs.get(run)
    if (unsealed !== undefined) this.#sealed(unsealed, unsealed.records.first + unsealed.records.count)
  }

  get more(): boolean {
    return this.#ready.length > 0
  }

  /** At least one segment, if there is one to write. */
  take(share: CompactionShare, now: number): Segment[] {
    const segments: Segment[] = []
    for (let bytes = 0; bytes < share.bytes && segments.length < share.segments;) {
      const next = this.#next(share.all, now)
      if (next === undefined) break
      const segment = { run: next.run, ...firstSegment(next.records.slice()) }
      segments.push(segment)
      bytes += segment.bytes.length
      this.#sealed(next, segment.first + segment.count)
      if (isReady(next)) this.#enqueue(next) // at the end of the queue: a long run must not delay the others
    }
    return segments
  }

  /** Log rows that are no longer needed; each is returned once. */
  takeFreed(): number[] {
    const freed = this.#freed
    this.#freed = []
    return freed
  }

  #of(run: number): UnsealedRecords {
    let unsealed = this.#runs.get(run)
    if (unsealed === undefined) {
      unsealed = { run, records: new Tail(), entries: new Fifo(), ended: false, queued: false }
      this.#runs.set(run, unsealed)
    }
    return unsealed
  }

  #enqueue(unsealed: UnsealedRecords): void {
    if (unsealed.queued) return
    unsealed.queued = true
    this.#ready.push(unsealed)
  }

  #next(all: boolean, now: number): UnsealedRecords | undefined {
    for (let next = this.#ready.take(); next !== undefined; next = this.#ready.take()) {
      next.queued = false
      // A queued run may have been compacted otherwise in the meantime.
      if (!next.records.isEmpty) return next
    }
    const oldest = this.#oldestRow()
    return oldest !== undefined && (all || this.#isOverdue(oldest, now)) ? this.#runIn(oldest) : undefined
  }

  #oldestRow(): LogRow | undefined {
    while (this.#rows.peek()?.left === 0) this.#rows.take()
    return this.#rows.peek()
  }

  #isOverdue(oldest: LogRow, now: number): boolean {
    return now - oldest.addedAt >= ROW_AGE_MS || this.#rowsLeft > ROWS_MAX || this.#bytes > BACKLOG_BYTES
  }

  /** A run with records in the oldest row; they are its first ones. */
  #runIn(row: LogRow): UnsealedRecords | undefined {
    for (; row.searched < row.directory.length; row.searched += 4) {
      const unsealed = this.#runs.get(row.directory[row.searched]!)
      if (unsealed?.entries.peek()?.row === row) return unsealed
    }
    return undefined
  }

  #sealed(unsealed: UnsealedRecords, before: number): void {
    const { records, entries, run } = unsealed
    this.#bytes -= records.byteLength
    records.dropBefore(before)
    this.#bytes += records.byteLength
    for (let entry = entries.peek(); entry !== undefined && entry.end <= before; entry = entries.peek()) {
      entries.take()
      if (--entry.row.left > 0) continue
      this.#rowsLeft--
      this.#freed.push(entry.row.seq)
    }
    if (records.isEmpty) this.#runs.delete(run)
  }
}

/** Whether a run has enough for a segment. */
function isReady({ records, ended }: UnsealedRecords): boolean {
  if (records.isEmpty) return false
  return ended || records.count >= SEGMENT_RECORDS || records.byteLength >= SEGMENT_BYTES
}
