/** Wakes subscribers of streams with new content. Every node has one; a wake is a compare-and-set of the subscription. */
import { principalOf } from '../../../core/model/principal.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import type { Logger } from '../../../core/ports/logger.ts'
import { startTimer } from '../../../core/runtime/timer.ts'
import type { Service } from '../../../core/service.ts'
import type { Lookup } from '../../../http/webhooks/addresses.ts'
import { ClientStreams } from '../requests/streams.ts'
import { ANY, type StreamChanges } from './changes.ts'
import { changeSubscription, type KnownSubscription, subscriptionIn } from './documents.ts'
import { matchesPattern } from './glob.ts'
import type { SubscriptionKeys } from './keys.ts'
import {
  currentWake,
  hasPending,
  isPending,
  LINKS_MAX,
  SUBSCRIPTIONS,
  type Subscription,
  type Tails,
  type Wake,
  withLinks,
  withoutWake,
  withWake,
} from './model.ts'
import { newWakeId } from './commands.ts'
import { announceWake } from './announce.ts'
import { deliverWake } from './deliver.ts'
import type { WebhookPolicy } from './parse.ts'
import { listNames, readTails } from './tails.ts'

export interface SubscriptionWorkerParts {
  readonly service: Service
  readonly clock: Clock
  readonly logger: Logger
  readonly changes: StreamChanges
  readonly keys: () => Promise<SubscriptionKeys>
  readonly webhooks: WebhookPolicy
  /** DNS lookup. Default: the system's. */
  readonly lookup?: Lookup | undefined
}

export interface DeliveryParts extends SubscriptionWorkerParts {
  readonly streams: ClientStreams
  /** Aborted at shutdown. */
  readonly signal: AbortSignal
}

/** How often leases and retries are looked at. */
const TICK_MS = 1000
/** How often streams are looked at that no append on this node announced: after a crash, or from another node. */
const SCAN_EVERY = 10
const PAGE = 100
/** Within this time a node announces the wake that it created. */
const ANNOUNCE_MS = 5000
/** Concurrent deliveries on this node, and of one owner. */
const DELIVERIES_MAX = 64
const DELIVERIES_PER_OWNER = 8

export class SubscriptionWorker {
  readonly #parts: DeliveryParts
  readonly #stopping = new AbortController()
  /** Deliveries by owner. */
  readonly #active = new Map<string, Set<Promise<void>>>()
  /** When the streams of an owner were last looked through, in milliseconds since 1970. */
  readonly #scanned = new Map<string, number>()
  readonly #working: Promise<void>
  #count = 0
  #wakeUp: () => void = () => {}
  #isDue = true

  constructor(parts: SubscriptionWorkerParts) {
    const { signal } = this.#stopping
    this.#parts = { ...parts, signal, streams: new ClientStreams(parts.service, parts.clock) }
    parts.changes.onChange = () => this.#soon()
    this.#working = this.#work()
  }

  /** Aborts deliveries; their leases expire, and the next node sends them again. */
  async close(): Promise<void> {
    this.#parts.changes.onChange = undefined
    this.#stopping.abort()
    this.#soon()
    await this.#working
    await Promise.all(Array.from(this.#active.values(), (deliveries) => Promise.all(deliveries)))
  }

  #soon(): void {
    this.#isDue = true
    this.#wakeUp()
  }

  async #work(): Promise<void> {
    const { clock, logger } = this.#parts
    let nextTick = 0
    let ticks = 0
    while (!this.#stopping.signal.aborted) {
      this.#isDue = false
      try {
        const { names, isOverfull } = this.#parts.changes.take()
        for (const [owner, changed] of names) await this.#wakeOwner(owner, changed)
        if (isOverfull) ticks = 0
        if (clock.now() >= nextTick || nextTick - clock.now() > TICK_MS) {
          await this.#wakeAll(ticks % SCAN_EVERY === 0)
          ticks++
          nextTick = clock.now() + TICK_MS
        }
      } catch (cause) {
        logger.warn({ err: cause }, 'failed to look for subscriptions to wake; it will be retried')
        nextTick = clock.now() + TICK_MS
      }
      if (!this.#isDue) await this.#pause()
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const stop = startTimer(() => resolve(), TICK_MS, this.#parts.clock)
      this.#wakeUp = () => {
        stop()
        resolve()
      }
    })
  }

  /** All subscriptions of an owner, after a change of these streams. */
  async #wakeOwner(owner: string, changed: ReadonlySet<string>): Promise<void> {
    const page = await this.#parts.service
      .documents(principalOf(owner))
      .list({ collection: SUBSCRIPTIONS, limit: PAGE, ascending: true })
    if (page.documents.length === 0) return
    const names = [...changed].filter((name) => name !== ANY)
    const tails = await readTails(this.#parts.streams, principalOf(owner), names)
    for (const document of page.documents) await this.#consider(subscriptionIn(document), tails, changed.has(ANY))
  }

  /** Subscriptions of all owners. `scans`: looks at all of their streams too. */
  async #wakeAll(scans: boolean): Promise<void> {
    const { service, clock } = this.#parts
    const owners = new Map<string, Tails>()
    for (let offset = 0; ; offset += PAGE) {
      const query = { collection: SUBSCRIPTIONS, ascending: true, limit: PAGE, offset }
      const { documents } = await service.allDocuments(query)
      for (const document of documents) {
        if (this.#stopping.signal.aborted) return
        const known = subscriptionIn(document)
        if (!owners.has(known.owner) && scans) owners.set(known.owner, await this.#newStreams(known.owner))
        const { wake, due } = known.state
        const isWaiting = wake === undefined ? due !== undefined : wake.until !== undefined || wake.announced !== true
        if (scans || isWaiting) await this.#consider(known, owners.get(known.owner) ?? new Map(), true)
      }
      if (documents.length < PAGE) break
    }
    if (!scans) return
    for (const owner of this.#scanned.keys()) if (!owners.has(owner)) this.#scanned.delete(owner)
    for (const owner of owners.keys()) this.#scanned.set(owner, clock.now())
  }

  async #newStreams(owner: string): Promise<Tails> {
    const { service, streams } = this.#parts
    const principal = principalOf(owner)
    const names = await listNames(service, principal, this.#scanned.get(owner))
    return readTails(streams, principal, names)
  }

  /** `looks`: at all of its streams, not only at those in `tails`. */
  async #consider({ id, owner, state }: KnownSubscription, tails: Tails, looks: boolean): Promise<void> {
    const { service, clock, streams } = this.#parts
    const { type } = state.config
    const matching = Array.from(tails.keys()).filter(
      (name) => state.links.get(name)?.glob !== true && matchesPattern(state.config, name),
    )
    const concerns = Array.from(tails).some(([name, tail]) => {
      const link = state.links.get(name)
      return link !== undefined && isPending(link, tail)
    })
    if (matching.length === 0 && !concerns && !looks) return
    const now = clock.now()
    const wake = currentWake(state, now)
    const isReady = wake === undefined && (state.due ?? 0) <= now && (type === 'pull-wake' || this.#hasRoom(owner))
    const needsAnnouncement = type === 'pull-wake' && isUnannounced(state, wake, now)
    if (matching.length === 0 && !isReady && !needsAnnouncement) return
    let allTails: Tails = new Map()
    let isNew = false
    const changed = await changeSubscription(service, owner, id, async (known) => {
      const room = Math.max(LINKS_MAX - known.state.links.size, 0)
      const fresh = matching.filter((name) => !known.state.links.has(name))
      if (fresh.length > room)
        this.#parts.logger.warn({ subscription: id, streams: fresh.length - room }, 'a subscription is full')
      const linked =
        matching.length === 0 ? known.state : withLinks(known.state, withRoom(matching, fresh, room), 'glob')
      isNew = false
      if (!isReady || currentWake(linked, now) !== undefined) return linked
      const idle = linked.wake === undefined ? linked : withoutWake(linked)
      allTails = await readTails(streams, principalOf(owner), idle.links.keys())
      isNew = hasPending(idle, allTails)
      return isNew ? withWake(idle, newWakeId(), allTails, now) : idle
    })
    if (type === 'webhook' ? isNew : isNew || needsAnnouncement) this.#start(changed, allTails)
  }

  #hasRoom(owner: string): boolean {
    return this.#count < DELIVERIES_MAX && (this.#active.get(owner)?.size ?? 0) < DELIVERIES_PER_OWNER
  }

  #start(known: KnownSubscription, tails: Tails): void {
    const { logger } = this.#parts
    const { owner, id, state } = known
    const deliver = state.config.type === 'webhook' ? deliverWake : announceWake
    const deliveries = this.#active.get(owner) ?? new Set()
    this.#active.set(owner, deliveries)
    this.#count++
    const work = deliver(this.#parts, known, tails)
      .catch((cause: unknown) => {
        if (!this.#stopping.signal.aborted) logger.warn({ subscription: id, err: cause }, 'failed to wake a subscriber')
      })
      .finally(() => {
        this.#count--
        deliveries.delete(work)
        if (deliveries.size === 0) this.#active.delete(owner)
        this.#parts.changes.note(owner, ANY)
      })
    deliveries.add(work)
  }
}

/** The node that created the wake may have crashed before it announced it. */
function isUnannounced({ due }: Subscription, wake: Wake | undefined, now: number): boolean {
  return wake !== undefined && wake.announced !== true && (due ?? wake.at + ANNOUNCE_MS) <= now
}

/** Names that are linked already, and as many new ones as fit. */
function withRoom(matching: readonly string[], fresh: readonly string[], room: number): readonly string[] {
  const dropped = new Set(fresh.slice(room))
  return matching.filter((name) => !dropped.has(name))
}
