/** The reads of one run's log for its subscribers. Those who join in the same turn of the event loop at the same place share one read. */
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
  /** By what they read; each until it begins. */
  readonly #joined = new Map<string, JoinedRead>()

  constructor(store: Store, run: string) {
    this.#store = store
    this.#run = run
  }

  after(index: number, maxBytes: number): Promise<Slice | undefined> {
    return readCheckedLog(this.#store, this.#run, index, maxBytes)
  }

  /** Like `after`, at the end of the turn: it begins when everybody has joined it, so nobody misses what was there when they asked. */
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
    // None of several readers may give its memory back.
    const { first, count, bytes, closed } = slice
    return { first, count, bytes, closed }
  }
}
