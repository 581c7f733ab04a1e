/** Pushes: a consumer of the logs that looks for deliveries with something to tell, and has couriers deliver it. */
import type { Clock, Ids } from '../../../core/ports/clock.ts'
import type { Document } from '../../../core/model/document.ts'
import { isHoldfastError } from '../../../core/model/errors.ts'
import type { Logger } from '../../../core/ports/logger.ts'
import { type Principal, principalOf } from '../../../core/model/principal.ts'
import type { Service } from '../../../core/service.ts'
import type { PushSettings } from '../wire/options.ts'
import type { Lookup } from './addresses.ts'
import { Courier, type CourierParts } from './courier.ts'
import { DELIVERIES, deliveryIn, endDelivery } from './deliveries.ts'
import { defaultPushLimits, type PushLimits } from './limits.ts'

export interface PushParts {
  readonly service: Service
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  /** Whether other nodes deliver too. Where none does, what a delivery says of one is left from before a crash. */
  readonly shared: boolean
  readonly options: PushSettings
  /** What names mean; the system's own where none is given. */
  readonly lookup?: Lookup
}

const PAGE = 200
/** Looking may take this part of the time. */
const LOOK_SHARE = 0.1
/** … but one look that took long because the process was busy with something else puts the next one off no longer than this. */
const LOOK_PAUSE_MS_MAX = 2000
/** How many times `deliveriesMax` there may be with the first deliveries of principals that have no other. */
const FIRST_SHARE = 4

export class Pushes {
  readonly #service: Service
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #limits: PushLimits
  readonly #shared: boolean
  readonly #courier: CourierParts
  readonly #stopping = new AbortController()
  readonly #active = new Map<string, Promise<void>>()
  /** Deliveries under way, by principal and by host: receivers that do not answer hold up nobody else's pushes. */
  readonly #shares = new Map<string, number>()
  readonly #looking: Promise<void>

  /** Begins at once. */
  constructor({ service, clock, ids, logger, shared, options, lookup }: PushParts) {
    this.#service = service
    this.#clock = clock
    this.#logger = logger
    this.#shared = shared
    this.#limits = { ...defaultPushLimits, ...options.limits }
    const { signal } = this.#stopping
    const { loopback = false, signer, secrets } = options
    const limits = this.#limits
    this.#courier = { service, clock, logger, node: ids.unique(), loopback, lookup, signer, secrets, limits, signal }
    this.#looking = this.#lookAgainAndAgain()
  }

  /** What is being sent is cut off; whoever delivers next sends it again. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#looking
    await Promise.all(this.#active.values())
  }

  async #lookAgainAndAgain(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const began = performance.now()
      try {
        await this.#look()
      } catch (cause) {
        this.#logger.warn({ err: cause }, 'pushes could not be looked for')
      }
      const took = performance.now() - began
      await pause(Math.max(this.#limits.lookMs, Math.min(took / LOOK_SHARE, LOOK_PAUSE_MS_MAX)), signal)
    }
  }

  /** Those that have waited longest come first. */
  async #look(): Promise<void> {
    const query = { collection: DELIVERIES, order: 'updated', ascending: true, limit: PAGE } as const
    for (let offset = 0; ; offset += PAGE) {
      const { documents } = await this.#service.allDocuments({ ...query, offset })
      for (const document of documents) {
        if (this.#stopping.signal.aborted || this.#active.size >= this.#limits.deliveriesMax * FIRST_SHARE) return
        await this.#consider(document)
      }
      if (documents.length < PAGE) return
    }
  }

  async #consider(document: Document): Promise<void> {
    const key = JSON.stringify([document.owner, document.id])
    const { task, config, due, lease, told = 0 } = deliveryIn(document)
    const now = this.#clock.now()
    if (this.#active.has(key) || due > now || !this.#hasRoom(document)) return
    if (this.#shared && lease !== undefined && lease.by !== this.#courier.node && lease.until > now) return
    const principal = principalOf(document.owner)
    try {
      const { next } = await this.#service.get(principal, task)
      if (next > told) this.#send(key, principal, document)
    } catch (cause) {
      if (!isHoldfastError(cause, 'not_found')) throw cause
      await endDelivery(this.#service.documents(principal), task, config) // its task was removed
    }
  }

  #send(key: string, principal: Principal, document: Document): void {
    const work = new Courier(this.#courier, principal, document).run().catch((cause: unknown) => {
      this.#logger.warn({ delivery: document.id, err: cause }, 'a push could not be delivered')
    })
    this.#count(document, 1)
    this.#active.set(
      key,
      work.finally(() => {
        this.#active.delete(key)
        this.#count(document, -1)
      }),
    )
  }

  /** A principal that has none under way waits for no others: neither for a slot of all, nor for its host. */
  #hasRoom(document: Document): boolean {
    const { deliveriesMax, deliveriesPerPrincipalMax, deliveriesPerHostMax } = this.#limits
    const [ofPrincipal = 0, toHost = 0] = sharesOf(document).map((share) => this.#shares.get(share) ?? 0)
    if (ofPrincipal === 0) return true
    return this.#active.size < deliveriesMax && ofPrincipal < deliveriesPerPrincipalMax && toHost < deliveriesPerHostMax
  }

  #count(document: Document, change: number): void {
    for (const share of sharesOf(document)) {
      const count = (this.#shares.get(share) ?? 0) + change
      if (count > 0) this.#shares.set(share, count)
      else this.#shares.delete(share)
    }
  }
}

/** What a delivery is counted under. */
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
