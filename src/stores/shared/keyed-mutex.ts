/** Per-key async mutex, first in, first out: keeps a store from racing with itself. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>()

  /** Runs `work` after all earlier work under the same key; immediately if there is none. */
  async do<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const mine = this.#last.get(key)?.then(work) ?? work()
    const settled = mine.then(ignore, ignore)
    this.#last.set(key, settled)
    try {
      return await mine
    } finally {
      if (this.#last.get(key) === settled) this.#last.delete(key)
    }
  }
}

function ignore(): void {}
