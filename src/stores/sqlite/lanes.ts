/** Runs of one lane wait for each other: only the oldest unfinished one may be driven. */
import type { ActiveRun } from './active-run.ts'

export class Lanes {
  readonly #lanes = new Map<string, Set<ActiveRun>>()

  join(active: ActiveRun): void {
    const { lane } = active.run
    if (lane === undefined) return
    const runs = this.#lanes.get(lane)
    if (runs === undefined) this.#lanes.set(lane, new Set([active]))
    else runs.add(active)
  }

  leave(active: ActiveRun): void {
    const { lane } = active.run
    const runs = lane === undefined ? undefined : this.#lanes.get(lane)
    runs?.delete(active)
    if (runs?.size === 0) this.#lanes.delete(lane!)
  }

  head(lane: string | undefined): ActiveRun | undefined {
    return lane === undefined ? undefined : this.#lanes.get(lane)?.values().next().value
  }

  isHead(active: ActiveRun): boolean {
    return active.run.lane === undefined || this.head(active.run.lane) === active
  }

  clear(): void {
    this.#lanes.clear()
  }
}
