/** Runs in the order of their creation time and then id. Most come last, so an array and a search do. */
import { comesBefore, type Position } from '../../core/model/page.ts'

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

  /** Those before a place, newest first. */
  *before(position?: Position): Generator<Item> {
    for (let at = position === undefined ? this.#items.length : this.#placeOf(position); at > 0; at--)
      yield this.#items[at - 1]!
  }

  /** Those after a place, oldest first. */
  *after(position?: Position): Generator<Item> {
    let at = position === undefined ? 0 : this.#placeOf(position)
    if (position !== undefined && this.#items[at]?.id === position.id) at++
    for (; at < this.#items.length; at++) yield this.#items[at]!
  }

  /** Where a run is, or would be. */
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
