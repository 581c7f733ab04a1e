/**
 * Reads one run's log for its subscribers. Subscribers that ask for the same position in the same tick of the event loop share one
 * read.
 */
import type { Slice } from '../model/record.ts'
import type { Store } from '../ports/store.ts'
import { eventLoop } from '../runtime/event-loop-tick.ts'
import { readCheckedLog } from './read-log.ts'

interface JoinedRead {
  readonly slice: Promise<Slice | undefined>
  readers: number
}

export class RunReads {
  readonly #store: Store
  readonly #run: string
  /** Shared reads that have not started yet, by what they read. */
  readonly #joined = new Map<string, JoinedRead>()

  constructor(store: Store, run: string) {
    this.#store = store
    this.#run = run
  }

  after(index: number, maxBytes: number): Promise<Slice | undefined> {
    return readCheckedLog(this.#store, this.#run, index, maxBytes)
  }

  /**
   * Like `after`, at the end of the tick: the read starts after everybody has joined it, so nobody misses a record that existed when
   * it asked.
   */
  together(index: number, maxBytes: number): Promise<Slice | undefined> {
    const key = `${index} ${maxBytes}`
    let read = this.#joined.get(key)
    if (read === undefined) {
      const begun = new Promise<void>((resolve) => eventLoop.defer(resolve))
      read = { slice: begun.then(() => this.#begin(key, index, maxBytes)), readers: 0 }
      this.#joined.set(key, read)
    }
    read.readers++
    return read.slice
  }

  async #begin(key: string, index: number, maxBytes: number): Promise<Slice | undefined> {
    const { readers } = this.#joined.get(key)!
    this.#joined.delete(key)
    const slice = await this.after(index, maxBytes)
    if (slice === undefined || readers === 1) return slice
    // With several readers, none may release the memory.
    const { first, count, bytes, closed } = slice
    return { first, count, bytes, closed }
  }
}
