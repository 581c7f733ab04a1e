/** Finds finished runs older than a retention period, incrementally. */
import type { Position } from '../../core/model/page.ts'
import type { Run } from '../../core/model/run.ts'
import type { Store, StoredRun } from '../../core/ports/store.ts'

const PAGE_RUNS = 200
/** Maximum old runs that are not due yet. At the limit, a pass waits for some of them to end. */
const PASSED_MAX = 10_000

export class AgePass {
  readonly #store: Store
  readonly #keepMs: number
  readonly #applies: (run: Run) => boolean
  /** Runs up to this position were yielded or are in `#passed`. */
  #reached: Position | undefined
  /** Skipped runs: unfinished, or finished too recently. */
  readonly #passed = new Set<string>()

  /** `applies`: whether this period applies to a run. */
  constructor(store: Store, keepMs: number, applies: (run: Run) => boolean) {
    this.#store = store
    this.#keepMs = keepMs
    this.#applies = applies
  }

  /** Yields each run that finished longer ago than the period, once. */
  async *due(now: number): AsyncGenerator<StoredRun> {
    const cutoff = new Date(now - this.#keepMs).toISOString()
    const isDue = ({ finishedAt }: Run): boolean => finishedAt !== undefined && finishedAt < cutoff
    for (const id of this.#passed) {
      const stored = await this.#store.get(id)
      if (stored !== undefined && !isDue(stored.run)) continue
      if (stored !== undefined) yield stored
      this.#passed.delete(id)
    }
    while (this.#passed.size < PASSED_MAX) {
      const page = await this.#store.transfer.runs(PAGE_RUNS, this.#reached)
      for (const { stored } of page) {
        const { run } = stored
        // Runs created later cannot be due.
        if (run.createdAt >= cutoff) return
        if (this.#applies(run) && stored.damage === undefined) {
          if (isDue(run)) yield stored
          else this.#passed.add(run.id)
        }
        this.#reached = { createdAt: run.createdAt, id: run.id }
      }
      if (page.length < PAGE_RUNS) return
    }
  }
}
