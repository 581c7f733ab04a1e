/** Run listings: the index selects the runs, the log supplies their state. */
import type { TransferredRun } from '../../../core/ports/store-transfer.ts'
import { cursorOf, type Position, positionOf } from '../../../core/model/page.ts'
import type { StoredRunPage, RunQuery, StoredRun } from '../../../core/ports/store.ts'
import type { SizedRun } from '../../../core/model/storage-usage.ts'
import { UnreadableRun } from './alarms.ts'
import { keptBytesOf } from '../log/head.ts'
import type { Entry, NatsRunIndex } from './run-index.ts'
import type { CurrentRun, RunMessages, Tip } from '../log/run-messages.ts'

export interface ListingsOptions {
  readonly index: NatsRunIndex
  readonly messages: RunMessages
  readonly stored: (current: CurrentRun) => StoredRun
  /** Resolves when everything that any node has written so far is in the index. */
  readonly caughtUp: () => Promise<void>
  readonly onUnreadable: (id: string) => void
}

export class Listings {
  readonly #options: ListingsOptions

  constructor(options: ListingsOptions) {
    this.#options = options
  }

  /** Newest first. */
  async page(query: RunQuery): Promise<StoredRunPage> {
    const { index, stored, caughtUp } = this.#options
    const after = query.after === undefined ? undefined : positionOf(query.after)
    await caughtUp()
    const { found, unreadable } = await this.#collect(query.limit + 1, after, (from) => index.select(query, from))
    const runs = found.slice(0, query.limit).map(stored)
    const hasMore = found.length > query.limit
    return { runs, ...(hasMore && { cursor: cursorOf(runs.at(-1)!.run) }), ...(unreadable > 0 && { unreadable }) }
  }

  /** Oldest first, each with its idempotency key. */
  async oldest(limit: number, after?: Position): Promise<TransferredRun[]> {
    const { index, stored, caughtUp } = this.#options
    await caughtUp()
    const { found } = await this.#collect(limit, after, (from) => index.oldest(from))
    return found.map((current) => {
      const { idempotency } = current.description
      return { stored: stored(current), ...(idempotency && { idempotency }) }
    })
  }

  /** Finished runs of an owner, oldest first. */
  async finished(owner: string, limit: number, after?: Position): Promise<SizedRun[]> {
    const { index, stored, caughtUp } = this.#options
    await caughtUp()
    const { found } = await this.#collect(limit, after, (from) => index.finished(owner, from))
    return found.map((current) => ({ stored: stored(current), bytes: keptBytesOf(current.head) }))
  }

  /** Collects up to `limit` runs of a selection. Skips runs that are in the index but no longer in the log. */
  async #collect(
    limit: number,
    after: Position | undefined,
    select: (from: Position | undefined) => Iterable<Entry>,
  ): Promise<{ readonly found: CurrentRun[]; readonly unreadable: number }> {
    const found: CurrentRun[] = []
    let unreadable = 0
    let from = after
    while (found.length < limit) {
      const chunk: Tip[] = []
      for (const { head, seq } of select(from)) if (chunk.push({ head, seq }) >= limit - found.length) break
      if (chunk.length === 0) break
      from = chunk.at(-1)!.head
      const described = await Promise.all(chunk.map((tip) => this.#describe(tip)))
      for (const current of described) {
        if (current === 'unreadable') unreadable++
        else if (current !== undefined) found.push(current)
      }
    }
    return { found, unreadable }
  }

  /** One unreadable run must not fail the listing. */
  async #describe(tip: Tip): Promise<CurrentRun | 'unreadable' | undefined> {
    const { messages, index, onUnreadable } = this.#options
    try {
      const current = (await messages.describe(tip)) ?? (await messages.read(tip.head.id))
      if (current === undefined) index.forget(tip.head.id, tip.seq)
      return current
    } catch (cause) {
      if (!(cause instanceof UnreadableRun)) throw cause
      onUnreadable(tip.head.id)
      return 'unreadable'
    }
  }
}
