/** Known damage: logged once, and counted in the health report. */
import type { LogDamage } from '../../../core/ports/store.ts'
import { type LostCommits, lossText } from '../file/commit-record.ts'
import { damageLine } from '../tables/quarantine.ts'

/** Damaged runs that are remembered individually. */
const RUNS_MAX = 10_000

export class DamageRegister {
  readonly #log: (what: string) => void
  readonly #found = new Map<string, LogDamage>()
  /** Damaged runs that the file recorded when it was opened. */
  #marked = 0
  #loss: string | undefined

  constructor(log: (what: string) => void) {
    this.#log = log
  }

  /** Called after the file was opened or reopened, with its recorded damage and lost commits. */
  opened(marked: number, warnings: readonly string[], lost: LostCommits | undefined): void {
    this.#found.clear()
    this.#marked = marked
    for (const warning of warnings) this.#log(warning)
    if (lost === undefined) return
    this.#loss = lossText(lost)
    this.#log(this.#loss)
  }

  unreadable(runs: number): void {
    if (runs > 0) this.#log(`${runs} unfinished runs cannot be read: their rows are damaged`)
  }

  /** Damage of a run, if it was found since the file was opened. */
  of(id: string): LogDamage | undefined {
    return this.#found.get(id)
  }

  found(id: string, damage: LogDamage): void {
    if (this.#found.has(id)) return
    this.#log(damageLine(id, damage))
    if (this.#found.size < RUNS_MAX) this.#found.set(id, damage)
  }

  /** A damaged run was removed. */
  removed(id: string): void {
    if (!this.#found.delete(id)) this.#marked--
  }

  /** Public, so without ids. */
  get alarms(): string[] {
    const runs = this.#marked + this.#found.size
    const damage = `${runs === 1 ? '1 run is' : `${runs} runs are`} damaged and quarantined`
    return [...(this.#loss === undefined ? [] : [this.#loss]), ...(runs === 0 ? [] : [damage])]
  }
}
