/** Per-key async mutex: keeps this node from racing with itself. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>()

  async do<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(what) ?? Promise.resolve()
    const mine = before.then(work, work)
    const settled = mine.catch(() => {})
    this.#last.set(what, settled)
    try {
      return await mine
    } finally {
      if (this.#last.get(what) === settled) this.#last.delete(what)
    }
  }
}
