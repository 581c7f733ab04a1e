/** Quarantine: isolates a run with a damaged log, so that all others continue (STO-1). */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { HoldfastError } from '../../../core/model/errors.ts'
import type { LogDamage } from '../../../core/ports/store.ts'

/** SQLite cannot read the pages. */
export const UNREADABLE = 'cannot be read: the database is damaged there'

export class Quarantine {
  readonly #update: StatementSync

  constructor(database: DatabaseSync) {
    this.#update = database.prepare('UPDATE runs SET damage = ? WHERE number = ? AND damage IS NULL')
  }

  /** Returns the log line; undefined if the run was already quarantined or is removed. */
  add(number: number, id: string, damage: LogDamage): string | undefined {
    const { changes } = this.#update.run(JSON.stringify(damage), number)
    return Number(changes) === 0 ? undefined : damageLine(id, damage)
  }
}

export function damageLine(id: string, { first, last, reason }: LogDamage): string {
  return `run ${id} is quarantined: events ${first} to ${last} ${reason}; other runs are not affected`
}

export function gapDamage(first: number, last: number): LogDamage {
  return { first, last, reason: 'are missing from the log' }
}

export function damageError(id: string, { first, last, reason }: LogDamage): HoldfastError {
  return new HoldfastError('log_damaged', `run ${id}: events ${first} to ${last} ${reason}`, {
    details: { first, last },
  })
}
