/**
 * Runs that this node gave up because its store was unavailable for too long, or lost durable records. The process is alive, so none
 * of them crashed it. Once the store is back, the node writes `run.released` to their logs. The next worker then starts all of them
 * immediately, and not half of them at a time as after a crash (decision 0010).
 */
import { isHoldfastError } from '../model/errors.ts'
import type { NodeDeps } from '../node-deps.ts'
import { loadExecution } from '../scheduling/load-execution.ts'

/** Runs released at a time: their writes share commits. */
const AT_ONCE = 32
/** A late write of the execution can conflict. After this many refused releases the run counts as interrupted. */
const REFUSALS_MAX = 5

interface GivenUpRun {
  readonly epoch: number
  refusals: number
}

export class GivenUpRuns {
  readonly #deps: NodeDeps
  readonly #runs = new Map<string, GivenUpRun>()
  #releasing: Promise<void> | undefined

  constructor(deps: NodeDeps) {
    this.#deps = deps
  }

  add(id: string, epoch: number): void {
    this.#runs.set(id, { epoch, refusals: 0 })
  }

  has(id: string): boolean {
    return this.#runs.has(id)
  }

  /** Releases the runs. If the store is still unavailable for some, the next call retries them. Never rejects. */
  release(): Promise<void> {
    this.#releasing ??= this.#releaseAll().finally(() => (this.#releasing = undefined))
    return this.#releasing
  }

  async #releaseAll(): Promise<void> {
    const all = [...this.#runs]
    for (let at = 0; at < all.length; at += AT_ONCE) {
      const tries = await Promise.all(all.slice(at, at + AT_ONCE).map(([id, run]) => this.#try(id, run)))
      if (tries.every((outcome) => outcome === 'away')) return
    }
  }

  async #try(id: string, run: GivenUpRun): Promise<'done' | 'away'> {
    try {
      await this.#release(id, run.epoch)
    } catch (caught) {
      const { refusalOf } = await loadExecution()
      const cause = refusalOf(caught)
      this.#deps.logger.debug({ run: id, err: cause }, 'failed to release a run that was given up; it will be retried')
      if (isHoldfastError(cause, 'unavailable')) {
        // Moves it to the end: a single run may be unreadable while the store is available.
        if (this.#forget(id, run)) this.#runs.set(id, run)
        return 'away'
      }
      if (++run.refusals < REFUSALS_MAX) return 'done'
    }
    this.#forget(id, run)
    return 'done'
  }

  /** Returns false if the node has given the run up again meanwhile. */
  #forget(id: string, run: GivenUpRun): boolean {
    return this.#runs.get(id) === run && this.#runs.delete(id)
  }

  /** The epoch decides: if another worker has claimed the run meanwhile, this node no longer releases it. */
  async #release(id: string, epoch: number): Promise<void> {
    const { store } = this.#deps
    const stored = await store.get(id)
    if (stored?.epoch !== epoch) return
    const { status, released } = stored.run
    if (status === 'running' && released !== true) {
      const { RunLog } = await loadExecution()
      const log = new RunLog(this.#deps, stored)
      log.append({ type: 'run.released', data: { reason: 'store_unavailable' } })
      await log.flush()
    }
    await store.release(id, epoch)
  }
}
