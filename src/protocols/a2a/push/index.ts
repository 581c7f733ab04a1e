/** Push notifications: polls for deliveries with new events and starts a `PushDelivery` for each. */
import type { Clock, Ids } from '../../../core/ports/clock.ts'
import type { Document } from '../../../core/model/document.ts'
import { isHoldfastError } from '../../../core/model/errors.ts'
import type { Logger } from '../../../core/ports/logger.ts'
import { type Principal, principalOf } from '../../../core/model/principal.ts'
import type { Service } from '../../../core/service.ts'
import type { PushSettings } from '../wire/options.ts'
import type { Lookup } from '../../../http/webhooks/addresses.ts'
import { PushDelivery, type PushDeliveryParts } from './push-delivery.ts'
import { DELIVERIES } from '../collections.ts'
import { deliveryIn, endDelivery, isDue } from './deliveries.ts'
import { defaultPushLimits, type PushLimits } from './limits.ts'

export interface PushParts {
  readonly service: Service
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  /** Whether other nodes deliver too. If not, a lease of another node is left over from a crash. */
  readonly shared: boolean
  readonly options: PushSettings
  /** DNS lookup. Default: the system's. */
  readonly lookup?: Lookup
}

const PAGE = 200
/** Maximum share of time spent polling. */
const POLL_DUTY_CYCLE = 0.1
/** Upper bound for the pause after a slow poll, which may have been slow because the process was busy. */
const POLL_PAUSE_MS_MAX = 2000
/** Limit, as a multiple of `maxDeliveries`, that includes the first delivery of each otherwise idle principal. */
const FIRST_SHARE = 4

interface ActiveDelivery {
  readonly owner: string
  readonly delivery: PushDelivery
  readonly done: Promise<void>
}

export class Pushes {
  readonly #service: Service
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #limits: PushLimits
  readonly #shared: boolean
  readonly #deliveryParts: PushDeliveryParts
  readonly #stopping = new AbortController()
  readonly #active = new Map<string, ActiveDelivery>()
  /** Active deliveries by principal and by host, so that slow receivers do not block others. */
  readonly #shares = new Map<string, number>()
  /** Aborted when a slot becomes free for a waiting delivery. */
  #slotFreed = new AbortController()
  readonly #polling: Promise<void>

  /** Starts polling immediately. */
  constructor({ service, clock, ids, logger, shared, options, lookup }: PushParts) {
    this.#service = service
    this.#clock = clock
    this.#logger = logger
    this.#shared = shared
    this.#limits = { ...defaultPushLimits, ...options.limits }
    const { signal } = this.#stopping
    const { loopback = false, signer, secrets } = options
    const limits = this.#limits
    this.#deliveryParts = {
      service,
      clock,
      logger,
      node: ids.unique(),
      loopback,
      lookup,
      signer,
      secrets,
      limits,
      signal,
    }
    this.#polling = this.#pollLoop()
  }

  /** Aborts active requests; the next node sends them again (at-least-once). */
  async close(): Promise<void> {
    this.#stopping.abort()
    await this.#polling
    await Promise.all(Array.from(this.#active.values(), ({ done }) => done))
  }

  async #pollLoop(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const began = performance.now()
      this.#slotFreed = new AbortController()
      try {
        await this.#poll()
      } catch (cause) {
        this.#logger.warn({ err: cause }, 'failed to poll for push deliveries')
      }
      const took = performance.now() - began
      const restMs = Math.min(took / POLL_DUTY_CYCLE, POLL_PAUSE_MS_MAX)
      await pause(restMs, signal)
      // A slow poll is followed by a pause longer than the poll interval.
      if (restMs < this.#limits.pollIntervalMs)
        await pause(this.#limits.pollIntervalMs - restMs, AbortSignal.any([signal, this.#slotFreed.signal]))
    }
  }

  /** Oldest first. */
  async #poll(): Promise<void> {
    const query = { collection: DELIVERIES, order: 'updated', ascending: true, limit: PAGE } as const
    for (let offset = 0; ; offset += PAGE) {
      const { documents } = await this.#service.allDocuments({ ...query, offset })
      for (const document of documents) {
        if (this.#stopping.signal.aborted || this.#active.size >= this.#limits.maxDeliveries * FIRST_SHARE) return
        await this.#consider(document)
      }
      if (documents.length < PAGE) return
    }
  }

  async #consider(document: Document): Promise<void> {
    const key = JSON.stringify([document.owner, document.id])
    const delivery = deliveryIn(document)
    const { task, config, lease, told: deliveredEvents = 0 } = delivery
    const now = this.#clock.now()
    if (this.#active.has(key) || !isDue(delivery, now, this.#limits)) return
    const hasRoom = this.#hasRoom(document)
    const idle = hasRoom ? undefined : this.#idleOf(document.owner)
    if (!hasRoom && idle === undefined) return
    if (this.#shared && lease !== undefined && lease.by !== this.#deliveryParts.node && lease.until > now) return
    const principal = principalOf(document.owner)
    try {
      const { next } = await this.#service.get(principal, task)
      if (next <= deliveredEvents) return
      if (idle === undefined) this.#send(key, principal, document)
      else this.#makeRoom(idle)
    } catch (cause) {
      if (!isHoldfastError(cause, 'not_found')) throw cause
      await endDelivery(this.#service.documents(principal), task, config) // the task was removed
    }
  }

  #send(key: string, principal: Principal, document: Document): void {
    const delivery = new PushDelivery(this.#deliveryParts, principal, document)
    const work = delivery.run().catch((cause: unknown) => {
      this.#logger.warn({ delivery: document.id, err: cause }, 'failed to deliver a push')
    })
    this.#count(document, 1)
    const done = work.finally(() => {
      this.#active.delete(key)
      this.#count(document, -1)
    })
    this.#active.set(key, { owner: document.owner, delivery, done })
  }

  /** A principal's first delivery bypasses the global and per-host limits. */
  #hasRoom(document: Document): boolean {
    const { maxDeliveries, maxDeliveriesPerPrincipal, maxDeliveriesPerHost } = this.#limits
    const [ofPrincipal = 0, toHost = 0] = sharesOf(document).map((share) => this.#shares.get(share) ?? 0)
    if (ofPrincipal === 0) return true
    return this.#active.size < maxDeliveries && ofPrincipal < maxDeliveriesPerPrincipal && toHost < maxDeliveriesPerHost
  }

  /** Polls again as soon as the slot is free. */
  #makeRoom({ delivery, done }: ActiveDelivery): void {
    const slotFreed = this.#slotFreed
    delivery.yieldSlot()
    void done.then(() => slotFreed.abort())
  }

  /** An idle delivery of a principal that has another delivery with events to send. */
  #idleOf(owner: string): ActiveDelivery | undefined {
    for (const each of this.#active.values()) if (each.owner === owner && each.delivery.isIdle) return each
    return undefined
  }

  #count(document: Document, change: number): void {
    for (const share of sharesOf(document)) {
      const count = (this.#shares.get(share) ?? 0) + change
      if (count > 0) this.#shares.set(share, count)
      else this.#shares.delete(share)
    }
  }
}

/** Keys under which a delivery counts towards limits. */
function sharesOf(document: Document): readonly string[] {
  const { host } = deliveryIn(document)
  return host === undefined ? [`principal ${document.owner}`] : [`principal ${document.owner}`, `host ${host}`]
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, milliseconds)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}
