/**
 * Reads one run's log for its subscribers. Subscribers at the same position share one read: those that ask in the same tick of the
 * event loop, and those that ask while the read is in progress. Without this, a thousand subscribers that fall behind together
 * would make the store read each page a thousand times.
 */
import type { Slice } from '../model/slice.ts'
import type { Store } from '../ports/store.ts'
import { eventLoop } from '../runtime/event-loop-tick.ts'
import { readCheckedLog } from './read-log.ts'

interface SharedRead {
  readonly slice: Promise<Slice | undefined>
  readers: number
}

export class RunReads {
  readonly #store: Store
  readonly #run: string
  /** Reads that start at the end of the tick, by what they read. */
  readonly #joined = new Map<string, SharedRead>()
  /** Reads in progress. */
  readonly #started = new Map<string, SharedRead>()

  constructor(store: Store, run: string) {
    this.#store = store
    this.#run = run
  }

  async after(index: number, maxBytes: number): Promise<Slice | undefined> {
    const key = keyOf(index, maxBytes)
    const started = this.#started.get(key)
    if (started === undefined) return this.#start(key, index, maxBytes, 1)
    started.readers++
    // It may have started before a record was written that this subscriber knows of.
    return (await started.slice) ?? this.#start(key, index, maxBytes, 1)
  }

  /**
   * Like `after`, at the end of the tick: the read starts after everybody has joined it, so nobody misses a record that existed when
   * it asked.
   */
  together(index: number, maxBytes: number): Promise<Slice | undefined> {
    const key = keyOf(index, maxBytes)
    let read = this.#joined.get(key)
    if (read === undefined) {
      const begun = new Promise<void>((resolve) => eventLoop.defer(resolve))
      const start = (): Promise<Slice | undefined> => {
        const { readers } = this.#joined.get(key)!
        this.#joined.delete(key)
        return this.#start(key, index, maxBytes, readers)
      }
      read = { slice: begun.then(start), readers: 0 }
      this.#joined.set(key, read)
    }
    read.readers++
    return read.slice
  }

  #start(key: string, index: number, maxBytes: number, readers: number): Promise<Slice | undefined> {
    const end = (): void => {
      if (this.#started.get(key) === read) this.#started.delete(key)
    }
    const slice = readCheckedLog(this.#store, this.#run, index, maxBytes).then(
      (found) => {
        end()
        return found === undefined || read.readers === 1 ? found : withoutRelease(found)
      },
      (cause: unknown) => {
        end()
        throw cause
      },
    )
    const read: SharedRead = { slice, readers }
    this.#started.set(key, read)
    return slice
  }
}

function keyOf(index: number, maxBytes: number): string {
  return `${index} ${maxBytes}`
}

/** With several readers, none may release the memory. */
function withoutRelease({ first, count, bytes, closed }: Slice): Slice {
  return { first, count, bytes, closed }
}
