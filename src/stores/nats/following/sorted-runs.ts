/** Runs sorted by creation time, then id. Most inserts are at the end, so an array with binary search suffices. */
import { comesBefore, type Position } from '../../../core/model/page.ts'

export class SortedRuns<Item extends Position> {
  /** Oldest first. */
  readonly #items: Item[] = []

  get size(): number {
    return this.#items.length
  }

  add(item: Item): void {
    const at = this.#placeOf(item)
    if (at === this.#items.length) this.#items.push(item)
    else this.#items.splice(at, 0, item)
  }

  remove(item: Item): void {
    const at = this.#placeOf(item)
    if (this.#items[at]?.id === item.id) this.#items.splice(at, 1)
  }

  /** Items before a position, newest first. */
  *before(position?: Position): Generator<Item> {
    for (let at = position === undefined ? this.#items.length : this.#placeOf(position); at > 0; at--)
      yield this.#items[at - 1]!
  }

  /** Items after a position, oldest first. */
  *after(position?: Position): Generator<Item> {
    let at = position === undefined ? 0 : this.#placeOf(position)
    if (position !== undefined && this.#items[at]?.id === position.id) at++
    for (; at < this.#items.length; at++) yield this.#items[at]!
  }

  /** Index of a run, or where it would be inserted. */
  #placeOf(position: Position): number {
    let [low, high] = [0, this.#items.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (comesBefore(position, this.#items[middle]!)) low = middle + 1
      else high = middle
    }
    return low
  }
}
