/**
 * Run numbers, which identify runs in the log and in segments. A number is never reused: the file stores the highest one of a
 * removed run, and the others are in their rows.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

const HIGHEST = `SELECT max(coalesce((SELECT value FROM counters WHERE name = 'run'), 0),
  coalesce((SELECT max(number) FROM runs), 0)) AS highest`

export function highestRunNumber(database: DatabaseSync): number {
  return Number(database.prepare(HIGHEST).get()!['highest'])
}

/** The writing side. */
export class RunNumbers {
  readonly #raise: StatementSync
  #known: number

  constructor(database: DatabaseSync) {
    this.#raise = database.prepare(
      `INSERT INTO counters (name, value) VALUES ('run', ?) ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)`,
    )
    this.#known = highestRunNumber(database)
  }

  /** Call in the transaction that finds a number without a row, or removes its row. */
  used(number: number): void {
    if (number > this.#known) this.removed(number)
  }

  removed(number: number): void {
    this.#raise.run(number)
    this.#known = Math.max(this.#known, number)
  }
}
