/** Wakes subscribers of streams with new content. Every node has one; a wake is a compare-and-set of the subscription. */
import { isHoldfastError } from '../../../core/model/errors.ts'
import { principalOf } from '../../../core/model/principal.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import type { Logger } from '../../../core/ports/logger.ts'
import { shareEventLoop } from '../../../core/runtime/share-event-loop.ts'
import { startTimer } from '../../../core/runtime/timer.ts'
import type { Service } from '../../../core/service.ts'
import type { Lookup } from '../../../http/webhooks/addresses.ts'
import { ClientStreams } from '../requests/streams.ts'
import { announceWake } from './announce.ts'
import { newWakeId } from './commands.ts'
import type { Deadlines } from './deadlines.ts'
import { deliverWake } from './deliver.ts'
import { Deliveries } from './deliveries.ts'
import { changeSubscription, type KnownSubscription, subscriptionsOf } from './documents.ts'
import { matchesPattern } from './glob.ts'
import type { SubscriptionKeys } from './keys.ts'
import {
  currentWake,
  hasPending,
  type Subscription,
  type Tails,
  withLinks,
  withoutDue,
  withoutWake,
  withRoom,
  withWake,
} from './model.ts'
import { OwnersWithout } from './owners-without.ts'
import type { WebhookPolicy } from './parse.ts'
import { SubscriptionScan } from './scan.ts'
import { readTails } from './tails.ts'
import type { WakeItem, WakeQueue } from './wake-queue.ts'

export interface SubscriptionWorkerParts {
  readonly service: Service
  readonly clock: Clock
  readonly logger: Logger
  readonly queue: WakeQueue
  readonly deadlines: Deadlines
  readonly keys: () => Promise<SubscriptionKeys>
  readonly webhooks: WebhookPolicy
  /** Whether other nodes use the store too. */
  readonly shared: boolean
  /** DNS lookup. Default: the system's. */
  readonly lookup?: Lookup | undefined
}

export interface DeliveryParts extends SubscriptionWorkerParts {
  readonly streams: ClientStreams
  /** Aborted at shutdown. */
  readonly signal: AbortSignal
}

/** How often leases and retries are looked at, if there are any. */
const TICK_MS = 1000
/** Owners that are looked at concurrently. */
const OWNERS_AT_ONCE = 16
const DEFERRED_MAX = 10_000

export class SubscriptionWorker {
  readonly #parts: DeliveryParts
  readonly #stopping = new AbortController()
  readonly #without: OwnersWithout
  readonly #deliveries = new Deliveries()
  readonly #scan: SubscriptionScan
  /** What is being looked at, by owner. */
  readonly #busy = new Map<string, Promise<void>>()
  /** Written streams of owners that had no subscriptions a moment ago. */
  #deferred: WakeItem[] = []
  #stopTimer: (() => void) | undefined

  constructor(parts: SubscriptionWorkerParts) {
    const { signal } = this.#stopping
    this.#parts = { ...parts, signal, streams: new ClientStreams(parts.service, parts.clock) }
    this.#without = new OwnersWithout(parts.clock, parts.shared)
    parts.queue.onItem = () => this.#takeItems()
    parts.deadlines.onTime = () => this.#startTimer()
    this.#scan = new SubscriptionScan(this.#parts, this.#without)
  }

  /** Aborts deliveries; their leases expire, and the next node sends them again. */
  async close(): Promise<void> {
    this.#parts.queue.onItem = undefined
    this.#parts.deadlines.onTime = undefined
    this.#stopping.abort()
    this.#stopTimer?.()
    await this.#scan.scanning
    await Promise.all(this.#busy.values())
    await this.#deliveries.settle()
    this.#stopTimer?.()
  }

  #takeItems(): void {
    const { queue, logger } = this.#parts
    while (this.#busy.size < OWNERS_AT_ONCE && !this.#stopping.signal.aborted) {
      const item = queue.take(this.#busy)
      if (item === undefined) break
      const work = this.#handle(item)
        .catch((cause: unknown) => {
          logger.warn({ err: cause }, 'failed to wake subscribers; it will be retried')
          if (isHoldfastError(cause, 'unavailable')) this.#defer(item) // otherwise the scan tries again
        })
        .finally(() => {
          this.#busy.delete(item.owner)
          this.#takeItems()
        })
      this.#busy.set(item.owner, work)
    }
    this.#startTimer()
  }

  #startTimer(): void {
    const { clock, deadlines } = this.#parts
    const isNeeded = deadlines.size > 0 || this.#deferred.length > 0
    if (this.#stopTimer !== undefined || !isNeeded || this.#stopping.signal.aborted) return
    this.#stopTimer = startTimer(() => this.#tick(), TICK_MS, clock)
  }

  #tick(): void {
    const { queue, deadlines } = this.#parts
    this.#stopTimer = undefined
    for (const { owner, id } of deadlines.over())
      if (!this.#deliveries.isWaiting(owner, id)) queue.addSubscription(owner, id)
    const deferred = this.#deferred
    this.#deferred = []
    for (const { owner, streams, subscription, unlinked } of deferred) {
      if (streams !== undefined) queue.addStreams(owner, streams)
      if (subscription !== undefined) queue.addSubscription(owner, subscription, unlinked)
    }
    this.#takeItems()
  }

  async #handle(item: WakeItem): Promise<void> {
    await shareEventLoop()
    if (item.subscription !== undefined) return this.#consider(item.owner, item.subscription, item.unlinked ?? [])
    const belief = this.#without.check(item.owner)
    if (belief === 'unknown') await this.#findSubscriptions(item.owner, [...item.streams!])
    else if (belief === 'recently') this.#defer(item)
  }

  /** Until the next tick. */
  #defer(item: WakeItem): void {
    if (this.#deferred.length < DEFERRED_MAX) this.#deferred.push(item)
  }

  /** Subscriptions of the owner that these streams concern. */
  async #findSubscriptions(owner: string, names: readonly string[]): Promise<void> {
    const { service, queue, deadlines } = this.#parts
    let hasAny = false
    for await (const known of subscriptionsOf(service, owner)) {
      hasAny = true
      const { links, config } = known.state
      const unlinked = names.filter((name) => links.get(name)?.glob !== true && matchesPattern(config, name))
      const isAwake = currentWake(known.state, deadlines.isOver(known)) !== undefined
      if (unlinked.length > 0 || (!isAwake && names.some((name) => links.has(name))))
        queue.addSubscription(owner, known.id, unlinked)
    }
    if (hasAny) this.#without.delete(owner)
    else this.#without.add(owner)
  }

  /** Links streams, and creates or announces a wake if one is due. */
  async #consider(owner: string, id: string, unlinked: Iterable<string>): Promise<void> {
    const { service, clock, streams, deadlines } = this.#parts
    this.#without.delete(owner)
    let starts: boolean
    let tails: Tails
    const change = async (known: KnownSubscription): Promise<Subscription> => {
      starts = false
      tails = new Map()
      const state = this.#withMatching(known, unlinked)
      const isOver = deadlines.isOver(known)
      const wake = currentWake(state, isOver)
      if (wake !== undefined) {
        // The node that created the wake may have crashed before it announced it.
        starts = isOver && wake.until === undefined && wake.announced !== true && this.#hasRoom(known)
        return state
      }
      if (!isOver || !this.#hasRoom(known)) return state
      tails = await readTails(streams, principalOf(owner), state.links.keys())
      const idle = state.wake === undefined ? state : withoutWake(state)
      starts = hasPending(idle, tails)
      if (starts) return withWake(idle, newWakeId(), tails, clock.now())
      return idle.due === undefined ? idle : withoutDue(idle)
    }
    try {
      const changed = await changeSubscription(service, owner, id, change)
      deadlines.isOver(changed) // measured from now on
      if (starts!) this.#start(changed, tails!)
    } catch (cause) {
      if (!isHoldfastError(cause, 'not_found')) throw cause
      deadlines.forget(owner, id)
    }
  }

  #withMatching({ id, state }: KnownSubscription, unlinked: Iterable<string>): Subscription {
    const matching = [...unlinked].filter(
      (name) => state.links.get(name)?.glob !== true && matchesPattern(state.config, name),
    )
    if (matching.length === 0) return state
    const { fitting, dropped } = withRoom(state, matching)
    if (dropped > 0)
      this.#parts.logger.warn(
        { subscription: id, streams: dropped },
        'dropped streams from a subscription that has reached its limit',
      )
    return fitting.length === 0 ? state : withLinks(state, fitting, 'glob')
  }

  #hasRoom({ owner, id, state }: KnownSubscription): boolean {
    const hasRoom = this.#deliveries.hasRoom(owner, hostOf(state))
    if (!hasRoom) this.#deliveries.await(owner, id)
    return hasRoom
  }

  #start(known: KnownSubscription, tails: Tails): void {
    const { logger, queue, signal } = this.#parts
    const { owner, id, state } = known
    const deliver = state.config.type === 'webhook' ? deliverWake : announceWake
    const work = (): Promise<void> =>
      deliver(this.#parts, known, tails).catch((cause: unknown) => {
        if (!signal.aborted) logger.warn({ subscription: id, err: cause }, 'failed to wake a subscriber')
      })
    this.#deliveries.start({ owner, host: hostOf(state) }, work, (waiting) => {
      queue.addSubscription(owner, id)
      for (const next of waiting) queue.addSubscription(next.owner, next.id)
    })
  }
}

/** Host of the receiver. */
function hostOf({ config }: Subscription): string | undefined {
  return config.webhook && URL.parse(config.webhook.url)?.host
}
