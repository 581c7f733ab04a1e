/**
 * Which records are still in `log` rows, and which of them to move into segments next. Lives in the committing thread.
 * Work is given out in shares: runs of equal pace fill their segments together, and moving all of them in one commit would
 * stall every stream.
 */

/** Records of one run in one log row. */
interface Piece {
  readonly seq: number
  readonly first: number
  readonly count: number
  readonly bytes: Uint8Array
}

interface Unsealed {
  readonly run: number
  pieces: Piece[]
  count: number
  queued: boolean
}

interface LogRow {
  readonly seq: number
  readonly runs: number[]
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
    const runs: number[] = []
    for (let at = 0, offset = 0; at < directory.length; at += 4) {
      const [run, first, count, bytes] = [directory[at]!, directory[at + 1]!, directory[at + 2]!, directory[at + 3]!]
      const unsealed = this.#of(run)
      unsealed.pieces.push({ seq, first, count, bytes: data.subarray(offset, offset + bytes) })
      unsealed.count += count
      offset += bytes
      runs.push(run)
      if (unsealed.count >= SEGMENT_RECORDS || bytes >= SEGMENT_BYTES) this.#enqueue(unsealed)
    }
    this.#rows.set(seq, { seq, runs, left: runs.length, addedAt: now })
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
      if (next.count > 0) segments.push(this.#seal(next))
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
      unsealed = { run, pieces: [], count: 0, queued: false }
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
    for (const run of oldest.runs) {
      const unsealed = this.#runs.get(run)
      if (unsealed?.pieces[0]?.seq === oldest.seq) return unsealed
    }
    return undefined
  }

  #seal(unsealed: Unsealed): Segment {
    const pieces = unsealed.pieces
    const segment = {
      run: unsealed.run,
      first: pieces[0]!.first,
      count: unsealed.count,
      bytes: Buffer.concat(pieces.map((piece) => piece.bytes)),
    }
    // A run that goes on gets a fresh entry, so that iteration over runs comes to the others first.
    unsealed.pieces = []
    unsealed.count = 0
    unsealed.queued = false
    this.#runs.delete(unsealed.run)
    for (const piece of pieces) {
      const row = this.#rows.get(piece.seq)!
      if (--row.left === 0) {
        this.#rows.delete(row.seq)
        this.#freed.push(row.seq)
      }
    }
    return segment
  }
}
