/** Finds the finished runs that are older than one period, without looking at all runs every time. */
import type { Position } from '../../core/model/page.ts'
import type { Run } from '../../core/model/run.ts'
import type { Store, StoredRun } from '../../core/ports/store.ts'

const PAGE_RUNS = 200
/** Old runs that cannot be taken yet; with more, a pass goes no further until some of them end. */
const PASSED_MAX = 10_000

export class AgePass {
  readonly #store: Store
  readonly #keepMs: number
  readonly #applies: (run: Run) => boolean
  /** Runs up to this position were given out, or are among those that were passed over. */
  #reached: Position | undefined
  /** Runs that had not ended, or had ended too recently. */
  readonly #passed = new Set<string>()

  /** `applies`: whether this period is the one of a run. */
  constructor(store: Store, keepMs: number, applies: (run: Run) => boolean) {
    this.#store = store
    this.#keepMs = keepMs
    this.#applies = applies
  }

  /** Runs that finished longer ago than the period. What was given out is not given out again. */
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
        // What was created later cannot be too old.
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
