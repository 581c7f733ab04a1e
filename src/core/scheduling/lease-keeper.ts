/** Renews the leases of this node on its own timer, so that nothing else the node awaits delays a renewal. */
import { elapsedOf } from '../ports/clock.ts'
import type { NodeDeps } from '../node-deps.ts'
import { RenewalGap } from './renewal-gap.ts'
import type { LeasedRun } from '../ports/store.ts'
import { startTimer } from '../runtime/timer.ts'

/** Executions of this node by run: epoch, and number of durable records. */
export type Executions = ReadonlyMap<string, { readonly epoch: number; readonly durable: number }>

export interface LeaseKeeperOptions extends Pick<NodeDeps, 'store' | 'limits' | 'logger' | 'clock'> {
  readonly worker: string
  /** Components that the node serves now, announced to other nodes. */
  readonly components: () => readonly string[]
  readonly executing: () => Executions
  /** A renewal succeeded. `before`: the executions when it was sent; the response may be older than the current ones. */
  readonly renewed: (leases: readonly LeasedRun[], before: Executions) => void
}

/** A failed renewal is retried within this fraction of a lease. */
const RETRY_PART = 1 / 12
const INTERVAL_MIN_MS = 50

export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions
  readonly #intervalMs: number
  readonly #gap: RenewalGap
  #stopTimer: (() => void) | undefined
  #renewing: Promise<void> | undefined
  #stopped = false

  constructor(options: LeaseKeeperOptions) {
    this.#options = options
    this.#intervalMs = Math.max(options.limits.leaseMs / 3, INTERVAL_MIN_MS)
    this.#gap = new RenewalGap(options.limits.leaseMs)
  }

  /** Renews now, and from now on every third of a lease. */
  start(): void {
    void this.renew()
  }

  close(): void {
    this.#stopped = true
    this.#stopTimer?.()
  }

  /** Whether this node may take over expired leases of other nodes. Always true if the store is not shared. */
  get mayTakeOver(): boolean {
    return !this.#options.store.capabilities.shared || this.#gap.mayTakeOver(this.#elapsed())
  }

  /** Renews now, or joins the renewal in progress. Never rejects. */
  renew(): Promise<void> {
    this.#stopTimer?.()
    this.#renewing ??= this.#renew().finally(() => (this.#renewing = undefined))
    return this.#renewing
  }

  async #renew(): Promise<void> {
    const { store, limits, logger, clock, worker, components, executing, renewed } = this.#options
    const before = executing()
    const sentAt = this.#elapsed()
    let delayMs: number
    try {
      const leases = await store.renew(worker, limits.leaseMs, components())
      this.#gap.renewed(sentAt, this.#elapsed())
      renewed(leases, before)
      delayMs = Math.max(sentAt + this.#intervalMs - this.#elapsed(), 0)
    } catch (cause) {
      logger.warn({ err: cause }, 'failed to renew leases')
      delayMs = Math.max(limits.leaseMs * RETRY_PART, INTERVAL_MIN_MS)
    }
    if (!this.#stopped) this.#stopTimer = startTimer(() => void this.renew(), delayMs, clock)
  }

  #elapsed(): number {
    return elapsedOf(this.#options.clock)
  }
}
