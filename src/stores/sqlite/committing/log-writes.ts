/** Writes `log`. Call inside a transaction. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { entryChecksums } from '../tables/checksum.ts'
import { EMPTY_LOG_ROW, INSERT_LOG_ROW } from '../tables/log-rows.ts'

const NOTHING = new Uint8Array(0)

export class LogWrites {
  readonly #insert: StatementSync
  readonly #empty: StatementSync
  readonly #delete: StatementSync
  /** Number of the last commit with requested changes. */
  #seq: number
  /** The last row, if it is empty. */
  #emptied: number | undefined

  /** `seq`: number of the last row, which is empty. */
  constructor(database: DatabaseSync, seq: number) {
    this.#insert = database.prepare(INSERT_LOG_ROW)
    this.#empty = database.prepare(EMPTY_LOG_ROW)
    this.#delete = database.prepare('DELETE FROM log WHERE seq = ?')
    this.#seq = seq
    this.#emptied = seq
  }

  get seq(): number {
    return this.#seq
  }

  /** Also for a commit without records: the row records that there was one. */
  add(directory: Int32Array, data: Uint8Array): void {
    this.#insert.run(++this.#seq, bytesOf(directory), data, bytesOf(entryChecksums(directory, data)))
    if (this.#emptied !== undefined) this.#delete.run(this.#emptied)
    this.#emptied = directory.length === 0 ? this.#seq : undefined
  }

  /** Continues counting after a number. */
  skipTo(seq: number): void {
    this.#seq = seq - 1
    this.add(new Int32Array(0), NOTHING)
  }

  /** Frees a row. The last one stays, empty: its number is that of the last commit. */
  free(seq: number): void {
    if (seq !== this.#seq) {
      this.#delete.run(seq)
      return
    }
    this.#empty.run(seq)
    this.#emptied = seq
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Int32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}
