/** LRU cache with a bound on the total weight of its entries. */
export class LruCache<Value> {
  readonly #kept = new Map<string, { readonly value: Value; readonly weight: number }>()
  readonly #weightMax: number
  readonly #weigh: (value: Value) => number
  #weight = 0

  constructor(weightMax: number, weigh: (value: Value) => number) {
    this.#weightMax = weightMax
    this.#weigh = weigh
  }

  get(key: string): Value | undefined {
    const kept = this.#kept.get(key)
    if (kept === undefined) return undefined
    this.#kept.delete(key)
    this.#kept.set(key, kept)
    return kept.value
  }

  set(key: string, value: Value): void {
    this.delete(key)
    const weight = this.#weigh(value)
    this.#kept.set(key, { value, weight })
    this.#weight += weight
    for (const [oldest] of this.#kept) {
      if (this.#weight <= this.#weightMax) break
      this.delete(oldest)
    }
  }

  clear(): void {
    this.#kept.clear()
    this.#weight = 0
  }

  delete(key: string): void {
    const kept = this.#kept.get(key)
    if (kept === undefined) return
    this.#kept.delete(key)
    this.#weight -= kept.weight
  }
}
