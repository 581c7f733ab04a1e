/** Storage usage per owner in the memory store. */
import { comesBefore, type Position } from '../../core/model/page.ts'
import { isFinished } from '../../core/model/run.ts'
import type { OwnerUsage, SizedRun, StoredUsage } from '../../core/model/storage-usage.ts'
import type { OwnerTotals } from '../shared/owner-totals.ts'

export class MemoryUsage implements StoredUsage {
  readonly #totals: OwnerTotals
  readonly #runs: () => readonly SizedRun[]

  constructor(totals: OwnerTotals, runs: () => readonly SizedRun[]) {
    this.#totals = totals
    this.#runs = runs
  }

  async of(owner: string): Promise<OwnerUsage> {
    return this.#totals.of(owner)
  }

  async total(): Promise<number> {
    return this.#totals.total()
  }

  async largest(limit: number): Promise<readonly OwnerUsage[]> {
    return this.#totals.largest(limit)
  }

  async finishedRuns(owner: string, limit: number, after?: Position): Promise<readonly SizedRun[]> {
    return this.#runs()
      .filter(({ stored: { run } }) => run.owner === owner && isFinished(run.status))
      .filter(({ stored: { run } }) => after === undefined || comesBefore(run, after))
      .toSorted((a, b) => (comesBefore(a.stored.run, b.stored.run) ? 1 : -1))
      .slice(0, limit)
  }
}
