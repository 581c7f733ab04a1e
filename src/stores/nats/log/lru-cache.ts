/** LRU cache with a bound on the total weight of its entries. */
export class LruCache<Value> {
  readonly #entries = new Map<string, { readonly value: Value; readonly weight: number }>()
  readonly #maxWeight: number
  readonly #weigh: (value: Value) => number
  #weight = 0

  constructor(maxWeight: number, weigh: (value: Value) => number) {
    this.#maxWeight = maxWeight
    this.#weigh = weigh
  }

  get(key: string): Value | undefined {
    const kept = this.#entries.get(key)
    if (kept === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, kept)
    return kept.value
  }

  set(key: string, value: Value): void {
    this.delete(key)
    const weight = this.#weigh(value)
    this.#entries.set(key, { value, weight })
    this.#weight += weight
    for (const [oldest] of this.#entries) {
      if (this.#weight <= this.#maxWeight) break
      this.delete(oldest)
    }
  }

  clear(): void {
    this.#entries.clear()
    this.#weight = 0
  }

  delete(key: string): void {
    const kept = this.#entries.get(key)
    if (kept === undefined) return
    this.#entries.delete(key)
    this.#weight -= kept.weight
  }
}
