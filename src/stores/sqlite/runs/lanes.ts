/** Lanes: only the oldest unfinished run of each may execute. */
import type { ActiveRun } from './active-run.ts'
import { Fifo } from '../fifo.ts'

interface Lane {
  readonly runs: Set<ActiveRun>
  /** In order of creation, including some that have left. */
  readonly order: Fifo<ActiveRun>
}

export class Lanes {
  readonly #lanes = new Map<string, Lane>()

  join(active: ActiveRun): void {
    const { lane: name } = active.run
    if (name === undefined) return
    const lane = this.#lanes.get(name) ?? { runs: new Set(), order: new Fifo() }
    lane.runs.add(active)
    lane.order.push(active)
    this.#lanes.set(name, lane)
  }

  leave(active: ActiveRun): void {
    const { lane: name } = active.run
    const lane = name === undefined ? undefined : this.#lanes.get(name)
    lane?.runs.delete(active)
    if (lane?.runs.size === 0) this.#lanes.delete(name!)
  }

  head(name: string | undefined): ActiveRun | undefined {
    const lane = name === undefined ? undefined : this.#lanes.get(name)
    if (lane === undefined) return undefined
    while (lane.order.length > 0 && !lane.runs.has(lane.order.peek()!)) lane.order.take()
    return lane.order.peek()
  }

  isHead(active: ActiveRun): boolean {
    return active.run.lane === undefined || this.head(active.run.lane) === active
  }

  clear(): void {
    this.#lanes.clear()
  }
}
