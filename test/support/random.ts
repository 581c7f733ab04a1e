/** Seeded random numbers; failures print the seed. */

export class Random {
  readonly seed: number
  #state: number

  constructor(seed: number) {
    this.seed = seed >>> 0
    this.#state = this.seed
  }

  /** From 0 to 1, exclusive (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** An integer, inclusive. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.between(0, items.length - 1)]!
  }
}

/** HOLDFAST_TEST_SEED repeats a test, as far as process timing allows. */
export function testSeed(): number {
  const given = process.env['HOLDFAST_TEST_SEED']
  return given === undefined ? Date.now() % 2 ** 32 : Number(given)
}
