/** Work that must not overlap with other work of the same key. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Does the work when all that was given before under the same key is done. */
  async do<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    for (let before = this.#last.get(key); before !== undefined; before = this.#last.get(key)) await before
    const result = work()
    const done = result.then(nothing, nothing)
    this.#last.set(key, done)
    try {
      return await result
    } finally {
      if (this.#last.get(key) === done) this.#last.delete(key)
    }
  }
}

function nothing(): void {}
