/**
 * Looks through all subscriptions, page by page, for work that nobody announced: of a node that crashed, or dropped from a full queue.
 * Takes a tenth of the time, so its load does not grow with the number of subscriptions; its rounds take longer.
 */
import type { DocumentPosition } from '../../../core/model/document.ts'
import { principalOf } from '../../../core/model/principal.ts'
import { elapsedOf } from '../../../core/ports/clock.ts'
import { shareEventLoop } from '../../../core/runtime/share-event-loop.ts'
import { startTimer } from '../../../core/runtime/timer.ts'
import { type KnownSubscription, subscriptionIn } from './documents.ts'
import { matchesPattern } from './glob.ts'
import { currentWake, hasPending, SUBSCRIPTIONS } from './model.ts'
import { listNames, readTails } from './tails.ts'
import type { DeliveryParts } from './worker.ts'
import type { OwnersWithout } from './owners-without.ts'

/** Subscriptions per page: their documents are parsed at once. */
const PAGE = 20
/** Share of the time. */
const SHARE = 0.1
/** Minimum time from one round to the next. */
const ROUND_MS = 10_000
/** Owners whose newest streams are known. */
const OWNERS_MAX = 10_000

export class SubscriptionScan {
  readonly #parts: DeliveryParts
  readonly #without: OwnersWithout
  /** Up to which creation time the streams of an owner were listed, in milliseconds since 1970. */
  readonly #listed = new Map<string, number>()
  readonly scanning: Promise<void>

  constructor(parts: DeliveryParts, without: OwnersWithout) {
    this.#parts = parts
    this.#without = without
    this.scanning = this.#scan()
  }

  async #scan(): Promise<void> {
    const { signal, clock, logger } = this.#parts
    let roundBegan = elapsedOf(clock)
    for (let after: DocumentPosition | undefined; !signal.aborted;) {
      const began = elapsedOf(clock)
      if (after === undefined) roundBegan = began
      try {
        after = await this.#scanPage(after)
      } catch (cause) {
        if (!signal.aborted) logger.warn({ err: cause }, 'failed to scan the subscriptions; it will be retried')
        after = undefined
      }
      const now = elapsedOf(clock)
      const restMs = (now - began) * (1 / SHARE - 1)
      await this.#pause(after === undefined ? Math.max(restMs, roundBegan + ROUND_MS - now) : restMs)
    }
  }

  /** Returns the position after the page; undefined after the last. */
  async #scanPage(after: DocumentPosition | undefined): Promise<DocumentPosition | undefined> {
    const { service, signal } = this.#parts
    const query = { collection: SUBSCRIPTIONS, ascending: true, limit: PAGE, ...(after && { after }) }
    const { documents, next } = await service.allDocuments(query)
    /** New streams of the owners on this page. */
    const fresh = new Map<string, readonly string[]>()
    for (const document of documents) {
      await shareEventLoop()
      if (signal.aborted) return undefined
      const known = subscriptionIn(document)
      const { owner, state } = known
      this.#without.delete(owner)
      if (state.config.pattern !== undefined && !fresh.has(owner)) fresh.set(owner, await this.#newStreams(owner))
      await this.#look(known, fresh.get(owner) ?? [])
    }
    return next
  }

  async #look(known: KnownSubscription, fresh: readonly string[]): Promise<void> {
    const { queue, deadlines, streams } = this.#parts
    const { owner, id, state } = known
    const unlinked = fresh.filter((name) => !state.links.has(name) && matchesPattern(state.config, name))
    const isOver = deadlines.isOver(known)
    const wake = currentWake(state, isOver)
    const isDue = async (): Promise<boolean> => {
      if (!isOver) return false
      if (wake !== undefined) return wake.announced !== true
      return hasPending(state, await readTails(streams, principalOf(owner), state.links.keys()))
    }
    if (unlinked.length > 0 || (await isDue())) queue.addSubscription(owner, id, unlinked)
  }

  /** Streams that were created since the last round, or all. */
  async #newStreams(owner: string): Promise<readonly string[]> {
    const now = this.#parts.clock.now()
    const names = await listNames(this.#parts.service, principalOf(owner), this.#listed.get(owner))
    this.#listed.delete(owner)
    this.#listed.set(owner, now)
    if (this.#listed.size > OWNERS_MAX) this.#listed.delete(this.#listed.keys().next().value!)
    return names
  }

  #pause(milliseconds: number): Promise<void> {
    const { clock, signal } = this.#parts
    return new Promise((resolve) => {
      const end = (): void => {
        stop()
        signal.removeEventListener('abort', end)
        resolve()
      }
      const stop = startTimer(end, milliseconds, clock)
      signal.addEventListener('abort', end)
      if (signal.aborted) end()
    })
  }
}
