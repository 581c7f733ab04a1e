/** Trims finished runs that are too old or more than there is room for. A trimmed run keeps its last event: how it ended. */
import type { Clock } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import type { Limits } from '../core/limits.ts'
import type { Logger } from '../core/logger.ts'
import { terminalStatuses } from '../core/run.ts'
import type { Store, StoredRun } from '../core/store.ts'

const SWEEP_MS = 60_000
const PAGE_RUNS = 200

export class Retention {
  readonly #store: Store
  readonly #limits: Limits
  readonly #clock: Clock
  readonly #logger: Logger
  #timer: NodeJS.Timeout | undefined
  #sweeping: Promise<number> | undefined
  #stopped = false

  constructor(store: Store, limits: Limits, clock: Clock, logger: Logger) {
    this.#store = store
    this.#limits = limits
    this.#clock = clock
    this.#logger = logger
    if (limits.retainMs === 0 && limits.retainBytesMax === 0) return
    this.#timer = setInterval(() => void this.sweep(), SWEEP_MS)
  }

  /** One pass over the finished runs, and how many it trimmed; a call while one is under way joins it. */
  sweep(): Promise<number> {
    this.#sweeping ??= this.#sweep()
      .catch((cause: unknown) => {
        this.#logger.warn({ reason: messageOf(cause) }, 'finished runs could not be trimmed')
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
    const keptSince = retainMs === 0 ? -Infinity : this.#clock.now() - retainMs
    let excess = retainBytesMax === 0 ? 0 : (await this.#store.size()) - retainBytesMax
    let trimmed = 0
    for (const stored of await this.#trimmable()) {
      if (this.#stopped) break
      if (Date.parse(stored.run.finishedAt!) >= keptSince && excess <= 0) continue
      const before = await this.#store.size()
      await this.#store.trim(stored.run.id, stored.next - 1)
      excess -= before - (await this.#store.size())
      trimmed++
    }
    return trimmed
  }

  /** Finished runs with more than their last event, oldest first. */
  async #trimmable(): Promise<StoredRun[]> {
    const found: StoredRun[] = []
    for (let after: string | undefined; ;) {
      const page = await this.#store.list({
        status: terminalStatuses,
        limit: PAGE_RUNS,
        ...(after !== undefined && { after }),
      })
      found.push(...page.runs.filter(({ first, next }) => first < next - 1))
      if (page.cursor === undefined) return found.toReversed()
      after = page.cursor
    }
  }
}
