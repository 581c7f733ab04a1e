/** Trims finished runs that are too old or more than there is room for. A trimmed run keeps its last event: how it ended. */
import type { Clock } from '../core/clock.ts'
import { detailOf } from '../core/errors.ts'
import type { Limits } from '../core/limits.ts'
import type { Logger } from '../core/logger.ts'
import type { Position } from '../core/page.ts'
import type { Run } from '../core/run.ts'
import type { Store, StoredRun } from '../core/store.ts'
import { ObservedTime } from './observed-time.ts'

const SWEEP_MS = 60_000
export const SWEEP_FAILED = 'finished runs could not be trimmed'
const PAGE_RUNS = 200
/** Runs older than what is kept that cannot be trimmed yet; with more, sweeps go no further until some of them end. */
const PASSED_MAX = 10_000

export class Retention {
  readonly #store: Store
  readonly #limits: Limits
  readonly #clock: Clock
  readonly #logger: Logger
  #timer: NodeJS.Timeout | undefined
  #sweeping: Promise<number> | undefined
  #stopped = false
  /** Runs up to this place are trimmed, or among those that were passed over. */
  #reached: Position | undefined
  readonly #time: ObservedTime
  readonly #passed = new Set<string>()

  readonly #believesClock: boolean
  #hasToldWait = false

  /** With `believesClock` ages are those that the wall clock says, whatever was observed. */
  constructor(store: Store, limits: Limits, clock: Clock, logger: Logger, { believesClock = false } = {}) {
    this.#store = store
    this.#limits = limits
    this.#clock = clock
    this.#logger = logger
    this.#time = new ObservedTime(store, clock)
    this.#believesClock = believesClock
    if (limits.retainMs === 0 && limits.retainBytesMax === 0) return
    this.#timer = setInterval(() => void this.sweep(), SWEEP_MS)
  }

  /** One pass over the finished runs, and how many it trimmed; a call while one is under way joins it. */
  sweep(): Promise<number> {
    this.#sweeping ??= this.#sweep()
      .catch((cause: unknown) => {
        this.#logger.warn({ reason: detailOf(cause) }, SWEEP_FAILED)
        return 0
      })
      .finally(() => (this.#sweeping = undefined))
    return this.#sweeping
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#timer)
    await this.#sweeping
  }

  async #sweep(): Promise<number> {
    const { retainMs, retainBytesMax } = this.#limits
    const isAgeKnown = retainMs > 0 && (await this.#isAgeKnown())
    const keptSince = isAgeKnown ? new Date(this.#clock.now() - retainMs).toISOString() : ''
    let excess = await this.#excess()
    const trimmed = new TrimReport()
    for await (const { run, first, next } of this.#oldest(() => excess > 0, keptSince)) {
      if (this.#stopped) break
      const { finishedAt } = run
      if (finishedAt === undefined || (finishedAt >= keptSince && excess <= 0)) {
        this.#passed.add(run.id)
        continue
      }
      this.#passed.delete(run.id)
      if (first === next - 1) continue
      await this.#store.trim(run.id, next - 1)
      if (retainBytesMax > 0) excess = await this.#excess()
      trimmed.add(run, next - 1 - first)
    }
    if (trimmed.runs > 0) this.#logger.info(trimmed.fields, 'trimmed finished runs')
    return trimmed.runs
  }

  async #isAgeKnown(): Promise<boolean> {
    if (this.#believesClock) return true
    const { waitMs, distrust } = await this.#time.look()
    if (distrust !== undefined || (waitMs > 0 && !this.#hasToldWait)) {
      this.#hasToldWait = true
      const hours = Math.ceil(waitMs / 3_600_000)
      this.#logger.warn(
        { reason: distrust ?? 'the clock was not believed when this store was last looked at' },
        `no run is trimmed for its age until the clock has been observed for ${hours} more hours`,
      )
    }
    return waitMs === 0
  }

  async #excess(): Promise<number> {
    const { retainBytesMax } = this.#limits
    return retainBytesMax === 0 ? 0 : (await this.#store.size()) - retainBytesMax
  }

  /**
   * Runs that may have to be trimmed, oldest first: those that were passed over, and those behind the place that was reached. What
   * was created since `keptSince` cannot be too old, so a sweep looks at what has become old since the last one, and not at all there is.
   */
  async *#oldest(isTooMuch: () => boolean, keptSince: string): AsyncGenerator<StoredRun> {
    for (const id of this.#passed) {
      const stored = await this.#store.get(id)
      if (stored === undefined) this.#passed.delete(id)
      else yield stored
    }
    while (this.#passed.size < PASSED_MAX) {
      const page = await this.#store.moving.runs(PAGE_RUNS, this.#reached)
      for (const { stored } of page) {
        if (stored.run.createdAt >= keptSince && !isTooMuch()) return
        yield stored
        this.#reached = { createdAt: stored.run.createdAt, id: stored.run.id }
      }
      if (page.length < PAGE_RUNS) return
    }
  }
}

/** What one sweep trimmed, for the log. */
class TrimReport {
  readonly #ids: string[] = []
  #events = 0
  #oldest: string | undefined
  #newest: string | undefined
  runs = 0

  add({ id, finishedAt = '' }: Run, events: number): void {
    this.runs++
    this.#events += events
    if (this.#ids.length < TOLD_IDS_MAX) this.#ids.push(id)
    if (this.#oldest === undefined || finishedAt < this.#oldest) this.#oldest = finishedAt
    if (this.#newest === undefined || finishedAt > this.#newest) this.#newest = finishedAt
  }

  get fields(): object {
    return {
      runs: this.runs,
      events: this.#events,
      finished: { first: this.#oldest, last: this.#newest },
      ids: this.#ids,
    }
  }
}

/** Trimmed runs that a line of the log names. */
const TOLD_IDS_MAX = 20
