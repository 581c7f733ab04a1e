/** FIFO queue with O(1) removal from the front, unlike `Array.shift`. */

/** Consumed slots are cut off when there are this many and they fill half of the array. */
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

  /** Returns the oldest item without removing it. */
  peek(): Item | undefined {
    return this.#items[this.#taken]
  }

  /** Removes and returns the oldest item. */
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
