/** A first-in first-out queue. Taking from the front is cheap however long it is, which `Array.shift` is not. */

/** Taken places are cut off when there are so many, and at least half of the array is of them. */
const TAKEN_MAX = 1024

export class Fifo<Item> {
  #items: Item[] = []
  #taken = 0

  get length(): number {
    return this.#items.length - this.#taken
  }

  push(item: Item): void {
    this.#items.push(item)
  }

  /** The oldest item, which stays. */
  peek(): Item | undefined {
    return this.#items[this.#taken]
  }

  /** The oldest item, which is taken out. */
  take(): Item | undefined {
    if (this.length === 0) return undefined
    const item = this.#items[this.#taken++]
    if (this.length === 0 || (this.#taken >= TAKEN_MAX && 2 * this.#taken >= this.#items.length)) {
      this.#items = this.#items.slice(this.#taken)
      this.#taken = 0
    }
    return item
  }
}
