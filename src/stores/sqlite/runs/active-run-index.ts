/** The runs in memory, and the order in which they may execute. */
import type { ClaimableQuery, ClaimOptions } from '../../../core/ports/store.ts'
import { FairOrder } from '../../shared/fair-order.ts'
import type { ActiveRun } from './active-run.ts'
import { Lanes } from './lanes.ts'

export class ActiveRunIndex {
  readonly #runs = new Map<string, ActiveRun>()
  readonly #lanes = new Lanes()
  readonly #order = new FairOrder<ActiveRun>()

  get(id: string): ActiveRun | undefined {
    return this.#runs.get(id)
  }

  all(): Iterable<ActiveRun> {
    return this.#runs.values()
  }

  /** Runs that need a worker, now or later. */
  waiting(): ReturnType<FairOrder<ActiveRun>['all']> {
    return this.#order.all()
  }

  queued(owner?: string): number {
    return this.#order.queued(owner)
  }

  /** The oldest unfinished run of a lane. */
  head(lane: string | undefined): ActiveRun | undefined {
    return this.#lanes.head(lane)
  }

  isHead(active: ActiveRun): boolean {
    return this.#lanes.isHead(active)
  }

  clear(): void {
    this.#runs.clear()
    this.#lanes.clear()
    this.#order.clear()
  }

  /** Adds a run that may execute. */
  add(active: ActiveRun): void {
    this.#runs.set(active.run.id, active)
    if (!active.finished) this.#lanes.join(active)
    this.#order.place(active)
  }

  /** Holds a run that must not execute: it is finished or damaged. */
  hold(active: ActiveRun): void {
    this.#runs.set(active.run.id, active)
  }

  /** The state of a run has changed. */
  changed(active: ActiveRun): void {
    if (active.finished) this.#lanes.leave(active)
    this.#order.place(active)
  }

  /** The run must not execute from now on. */
  quarantine(active: ActiveRun): void {
    this.#lanes.leave(active)
    this.#order.remove(active)
  }

  delete(active: ActiveRun): void {
    if (this.#runs.get(active.run.id) === active) this.#runs.delete(active.run.id)
  }

  isClaimable(active: ActiveRun, now: number, options: ClaimOptions = {}): boolean {
    const { paused = false, outOfOrder = false, takeover = true } = options
    if (active.finished || active.damage !== undefined || active.isHeld(now) || active.durable === undefined)
      return false
    if (active.stop !== undefined) return true
    if (active.lease !== undefined && !takeover) return false
    if (active.run.status === 'paused' && !paused && now < (active.run.wakeAt ?? Infinity)) return false
    return outOfOrder || this.#lanes.isHead(active)
  }

  claimable(limit: number, now: number, { components, takeover = true }: ClaimableQuery): readonly ActiveRun[] {
    const isWanted = ({ run, stop }: ActiveRun): boolean =>
      stop !== undefined || (components?.includes(run.component) ?? true)
    return this.#order.first(limit, (active) => isWanted(active) && this.isClaimable(active, now, { takeover }))
  }
}
