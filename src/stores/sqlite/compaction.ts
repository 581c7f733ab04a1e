/**
 * Which records are still in `log` rows, and which of them to move into segments next. Lives in the committing thread.
 * Work is given out in shares: runs of equal pace fill their segments together, and moving all of them in one commit would
 * stall every stream.
 */
import { Tail } from './tail.ts'

/** What one run has in log rows. */
interface Unsealed {
  readonly run: number
  readonly records: Tail
  /** The log rows that it has records in, oldest first. */
  readonly rows: number[]
  queued: boolean
}

interface LogRow {
  readonly seq: number
  /** As it is written (`CommitRequest`). */
  readonly directory: Int32Array
  /** Runs with records here that are not in a segment yet. */
  left: number
  readonly addedAt: number
}

/** A segment to be written. */
export interface Segment {
  readonly run: number
  readonly first: number
  readonly count: number
  readonly bytes: Uint8Array
}

/** Records a segment should have: replay wants many, reading a short tail wants few. */
const SEGMENT_RECORDS = 64
/** And the size at which fewer will do. */
const SEGMENT_BYTES = 64 * 1024
/** A log row that waits longer is freed even if that makes short segments. */
const ROW_AGE_MS = 10_000
const ROWS_MAX = 8192

export class Compaction {
  readonly #runs = new Map<number, Unsealed>()
  readonly #rows = new Map<number, LogRow>()
  readonly #ready: Unsealed[] = []
  #freed: number[] = []

  add(seq: number, data: Uint8Array, directory: Int32Array, now: number): void {
    for (let at = 0, offset = 0; at < directory.length; at += 4) {
      const [run, first, count, bytes] = [directory[at]!, directory[at + 1]!, directory[at + 2]!, directory[at + 3]!]
      const unsealed = this.#of(run)
      unsealed.records.push({ first, count, bytes: data.subarray(offset, offset + bytes) })
      unsealed.rows.push(seq)
      offset += bytes
      if (unsealed.records.count >= SEGMENT_RECORDS || bytes >= SEGMENT_BYTES) this.#enqueue(unsealed)
    }
    this.#rows.set(seq, { seq, directory, left: directory.length / 4, addedAt: now })
  }

  /** The log of a run is complete. */
  ended(run: number): void {
    const unsealed = this.#runs.get(run)
    if (unsealed !== undefined) this.#enqueue(unsealed)
  }

  /** What is left of one run, at once. */
  takeRun(run: number): Segment[] {
    const unsealed = this.#runs.get(run)
    return unsealed === undefined ? [] : [this.#seal(unsealed)]
  }

  get more(): boolean {
    return this.#ready.length > 0
  }

  /** Up to `most` segments; with `all`, also of runs that have few records yet. */
  take(most: number, all: boolean, now: number): Segment[] {
    const segments: Segment[] = []
    while (segments.length < most) {
      const next = this.#ready.shift() ?? (all ? this.#runs.values().next().value : this.#overdue(now))
      if (next === undefined) break
      // A queued run may have been sealed by another way in the meantime.
      if (!next.records.isEmpty) segments.push(this.#seal(next))
    }
    return segments
  }

  /** Log rows of which nothing is needed any more; they are told once. */
  takeFreed(): number[] {
    const freed = this.#freed
    this.#freed = []
    return freed
  }

  #of(run: number): Unsealed {
    let unsealed = this.#runs.get(run)
    if (unsealed === undefined) {
      unsealed = { run, records: new Tail(), rows: [], queued: false }
      this.#runs.set(run, unsealed)
    }
    return unsealed
  }

  #enqueue(unsealed: Unsealed): void {
    if (unsealed.queued) return
    unsealed.queued = true
    this.#ready.push(unsealed)
  }

  #overdue(now: number): Unsealed | undefined {
    const oldest = this.#rows.values().next().value
    if (oldest === undefined || (now - oldest.addedAt < ROW_AGE_MS && this.#rows.size <= ROWS_MAX)) return undefined
    for (let at = 0; at < oldest.directory.length; at += 4) {
      const unsealed = this.#runs.get(oldest.directory[at]!)
      if (unsealed?.rows[0] === oldest.seq) return unsealed
    }
    return undefined
  }

  #seal({ run, records, rows }: Unsealed): Segment {
    const { first, count, bytes } = records.slice()
    // A run that goes on gets a fresh entry, so that iteration over runs comes to the others first; this one may be queued.
    records.dropBefore(first + count)
    this.#runs.delete(run)
    for (const seq of rows) {
      const row = this.#rows.get(seq)!
      if (--row.left === 0) {
        this.#rows.delete(seq)
        this.#freed.push(seq)
      }
    }
    return { run, first, count, bytes }
  }
}
