/**
 * Retention: trims finished runs to their last event and later removes them, by age; and, when the store exceeds its size limit,
 * trims the largest owners. Unfinished runs are never touched.
 */
import type { Clock } from '../../core/ports/clock.ts'
import type { Limits } from '../../core/model/limits.ts'
import type { Logger } from '../../core/ports/logger.ts'
import type { Store, StoredRun } from '../../core/ports/store.ts'
import { AgePass } from './age-pass.ts'
import { IdleDocuments } from './idle-documents.ts'
import { ObservedTime } from './observed-time.ts'
import { type RetentionOverrides, RetentionPeriods } from './periods.ts'
import { removeRun } from './run-documents.ts'
import { SizePass } from './size-pass.ts'
import { SweepReport } from './sweep-report.ts'

const SWEEP_MS = 60_000
export const SWEEP_FAILED = 'a retention sweep failed'

/** Overrides of the retention periods in `Limits`. */
export interface RetentionOptions {
  /** Instead of `retainMs`. Default: none. */
  readonly events?: RetentionOverrides
  /** Instead of `retainRunsMs`. Default: none. */
  readonly runs?: RetentionOverrides
}

export interface RetentionSettings extends RetentionOptions {
  /** Trust the wall clock without observation. */
  readonly believesClock?: boolean
}

export class Retention {
  readonly #store: Store
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #time: ObservedTime
  readonly #believesClock: boolean
  readonly #trims: readonly AgePass[]
  readonly #removals: readonly AgePass[]
  readonly #runPeriods: RetentionPeriods
  readonly #idle: IdleDocuments
  readonly #size: SizePass | undefined
  readonly #timer: NodeJS.Timeout | undefined
  #sweeping: Promise<SweepReport> | undefined
  #stopped = false
  #hasToldWait = false

  constructor(store: Store, limits: Limits, clock: Clock, logger: Logger, settings: RetentionSettings = {}) {
    this.#store = store
    this.#clock = clock
    this.#logger = logger
    this.#time = new ObservedTime(store, clock)
    this.#believesClock = settings.believesClock ?? false
    this.#runPeriods = new RetentionPeriods(limits.retainRunsMs, settings.runs)
    this.#trims = passes(store, new RetentionPeriods(limits.retainMs, settings.events))
    this.#removals = passes(store, this.#runPeriods)
    this.#idle = new IdleDocuments(store, this.#runPeriods)
    if (limits.maxRetainedBytes > 0) this.#size = new SizePass(store, limits.maxRetainedBytes, () => this.#stopped)
    if (this.#hasPeriods || this.#size !== undefined) this.#timer = setInterval(() => void this.sweep(), SWEEP_MS)
  }

  /** Runs one sweep. A concurrent call joins the sweep in progress. */
  sweep(): Promise<SweepReport> {
    this.#sweeping ??= this.#sweep().finally(() => (this.#sweeping = undefined))
    return this.#sweeping
  }

  async close(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#timer)
    await this.#sweeping
  }

  get #hasPeriods(): boolean {
    return this.#trims.length > 0 || this.#removals.length > 0
  }

  async #sweep(): Promise<SweepReport> {
    const report = new SweepReport()
    try {
      if (this.#hasPeriods && (await this.#isAgeKnown())) await this.#sweepByAge(report)
      if (!this.#stopped) await this.#size?.run(report)
    } catch (cause) {
      this.#logger.warn({ err: cause }, SWEEP_FAILED)
    }
    report.log(this.#logger)
    return report
  }

  async #sweepByAge(report: SweepReport): Promise<void> {
    const now = this.#clock.now()
    for await (const { run } of this.#due(this.#removals, now)) {
      const sessionBefore = new Date(now - this.#runPeriods.of(run.owner, run.component)).toISOString()
      report.removedRun(run, await removeRun(this.#store, run, sessionBefore))
    }
    for await (const { run, first, next } of this.#due(this.#trims, now)) {
      if (first === next - 1) continue
      await this.#store.trim(run.id, next - 1)
      report.trimmedRun(run, next - 1 - first)
    }
    if (this.#removals.length > 0) await this.#idle.run(now, report, () => this.#stopped)
  }

  async *#due(all: readonly AgePass[], now: number): AsyncGenerator<StoredRun> {
    for (const pass of all) {
      for await (const stored of pass.due(now)) {
        if (this.#stopped) return
        yield stored
      }
    }
  }

  async #isAgeKnown(): Promise<boolean> {
    if (this.#believesClock) return true
    const { waitMs, distrust } = await this.#time.look()
    if (distrust !== undefined || (waitMs > 0 && !this.#hasToldWait)) {
      this.#hasToldWait = true
      const hours = Math.ceil(waitMs / 3_600_000)
      this.#logger.warn(
        { reason: distrust ?? 'the clock was not trusted at the last observation in this store' },
        `retention by age is paused until the clock has been observed for ${hours} more hours`,
      )
    }
    return waitMs === 0
  }
}

/** One pass per period, so that runs with longer periods do not block others. */
function passes(store: Store, periods: RetentionPeriods): AgePass[] {
  return periods.distinct.map(
    (period) => new AgePass(store, period, (run) => periods.of(run.owner, run.component) === period),
  )
}
