/** Pages of runs: the index says which, the log what they are. */
import type { KeptRun } from '../../core/moving.ts'
import { cursorOf, type Position, positionOf } from '../../core/page.ts'
import type { RunPage, RunQuery, StoredRun } from '../../core/store.ts'
import type { Entry, RunIndex } from './run-index.ts'
import type { Current, RunMessages, Tip } from './run-messages.ts'

export interface ListingsOptions {
  readonly index: RunIndex
  readonly messages: RunMessages
  readonly stored: (current: Current) => StoredRun
  /** Until all that was written so far, by whomever, is in the index. */
  readonly caughtUp: () => Promise<void>
}

export class Listings {
  readonly #options: ListingsOptions

  constructor(options: ListingsOptions) {
    this.#options = options
  }

  /** Newest first. */
  async page(query: RunQuery): Promise<RunPage> {
    const { index, stored, caughtUp } = this.#options
    const after = query.after === undefined ? undefined : positionOf(query.after)
    await caughtUp()
    const found = await this.#collect(query.limit + 1, after, (from) => index.select(query, from))
    const runs = found.slice(0, query.limit).map(stored)
    return found.length > query.limit ? { runs, cursor: cursorOf(runs.at(-1)!.run) } : { runs }
  }

  /** Oldest first, each with its key. */
  async oldest(limit: number, after?: Position): Promise<KeptRun[]> {
    const { index, stored, caughtUp } = this.#options
    await caughtUp()
    const found = await this.#collect(limit, after, (from) => index.oldest(from))
    return found.map((current) => {
      const { idempotency } = current.description
      return { stored: stored(current), ...(idempotency && { idempotency }) }
    })
  }

  /** So many runs of a selection that goes on after a place. What the index has and the log has no more is left out. */
  async #collect(
    limit: number,
    after: Position | undefined,
    select: (from: Position | undefined) => Iterable<Entry>,
  ): Promise<Current[]> {
    const found: Current[] = []
    let from = after
    while (found.length < limit) {
      const chunk: Tip[] = []
      for (const { head, seq } of select(from)) if (chunk.push({ head, seq }) >= limit - found.length) break
      if (chunk.length === 0) break
      from = chunk.at(-1)!.head
      const described = await Promise.all(chunk.map((tip) => this.#describe(tip)))
      for (const current of described) if (current !== undefined) found.push(current)
    }
    return found
  }

  async #describe(tip: Tip): Promise<Current | undefined> {
    const { messages, index } = this.#options
    const current = (await messages.describe(tip)) ?? (await messages.read(tip.head.id))
    if (current === undefined) index.forget(tip.head.id, tip.seq)
    return current
  }
}
