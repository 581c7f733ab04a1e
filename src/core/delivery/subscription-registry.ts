/** The subscriptions of one node, by run: limits them, passes hints on to them, and polls the store because hints may be lost. */
import type { Clock } from '../ports/clock.ts'
import { HoldfastError } from '../model/errors.ts'
import type { Limits } from '../model/limits.ts'
import { sliceFault } from './read-log.ts'
import type { Hint, Store } from '../ports/store.ts'
import { repeatTimer } from '../runtime/timer.ts'
import { RunReads } from './run-reads.ts'
import { type Sink, Subscription } from './subscription.ts'

export class SubscriptionRegistry {
  readonly #store: Store
  readonly #limits: Limits
  readonly #runs = new Map<string, RunSubscriptions>()
  readonly #stopPolling: () => void

  constructor(store: Store, limits: Limits, clock?: Clock) {
    this.#store = store
    this.#limits = limits
    this.#stopPolling = repeatTimer(() => this.#poll(), limits.pollIntervalMs, clock)
  }

  /** Delivers the records after an index until the run ends or the subscription is closed. */
  open(run: string, after: number, sink: Sink, onClose?: () => void): Subscription {
    const size = this.#runs.get(run)?.size ?? 0
    if (size >= this.#limits.maxSubscribersPerRun) {
      throw new HoldfastError(
        'rate_limited',
        `run ${run} has ${size} subscribers on this node, which is the limit: try again later`,
        {
          retryAfterMs: this.#limits.retryDelayMs,
        },
      )
    }
    return this.openUncounted(run, after, sink, onClose)
  }

  /** Like `open`, for a caller that only waits for the next event: it does not count as a subscriber. */
  openUncounted(run: string, after: number, sink: Sink, onClose?: () => void): Subscription {
    let ofRun = this.#runs.get(run)
    if (ofRun === undefined) {
      ofRun = new RunSubscriptions(this.#store, run, () => this.#runs.delete(run))
      this.#runs.set(run, ofRun)
    }
    return ofRun.add(after, sink, this.#limits.maxReadBytes, onClose)
  }

  /** Open subscriptions. */
  get size(): number {
    let size = 0
    for (const ofRun of this.#runs.values()) size += ofRun.size
    return size
  }

  /** Lag of the slowest subscription, in events. */
  get lag(): number {
    let lag = 0
    for (const ofRun of this.#runs.values()) lag = Math.max(lag, ofRun.lag)
    return lag
  }

  close(): void {
    this.#stopPolling()
  }

  /** Polls the log, because hints may be lost. */
  #poll(): void {
    for (const ofRun of this.#runs.values()) {
      ofRun.dropReadAhead()
      void ofRun.poll()
    }
  }
}

/** All subscriptions of one run. */
class RunSubscriptions {
  readonly #store: Store
  readonly #run: string
  readonly #reads: RunReads
  readonly #subscriptions = new Set<Subscription>()
  readonly #unwatch: () => void
  readonly #onEmpty: () => void
  #hinted = false
  #polling = false

  constructor(store: Store, run: string, onEmpty: () => void) {
    this.#store = store
    this.#run = run
    this.#reads = new RunReads(store, run)
    this.#onEmpty = onEmpty
    // Before the first read: a record that is appended in between sends a hint, so none is missed.
    this.#unwatch = store.watch(run, (hint) => this.#wake(hint))
  }

  get size(): number {
    return this.#subscriptions.size
  }

  get lag(): number {
    let lag = 0
    for (const subscription of this.#subscriptions) lag = Math.max(lag, subscription.lag)
    return lag
  }

  add(after: number, sink: Sink, maxReadBytes: number, onClose?: () => void): Subscription {
    const subscription = new Subscription(this.#reads, this.#run, after, sink, maxReadBytes, () => {
      this.#remove(subscription)
      onClose?.()
    })
    this.#subscriptions.add(subscription)
    subscription.resume()
    return subscription
  }

  dropReadAhead(): void {
    for (const subscription of this.#subscriptions) subscription.dropReadAhead()
  }

  /** Polls the store. A poll in progress is not repeated, however long it takes. */
  async poll(): Promise<void> {
    const hinted = this.#hinted
    this.#hinted = false
    if (hinted || this.#polling) return
    let next: number
    this.#polling = true
    try {
      next = (await this.#store.get(this.#run))?.next ?? Infinity // reading reports that a run is gone
    } catch {
      return
    } finally {
      this.#polling = false
    }
    for (const subscription of this.#subscriptions) {
      subscription.offer({ run: this.#run, next })
      subscription.recheck(next)
    }
  }

  #wake(hint: Hint): void {
    this.#hinted = true
    const { slice, ...rest } = hint
    const isSound = slice === undefined || sliceFault(this.#run, slice.first - 1, slice) === undefined
    const offered = isSound ? hint : rest // read the log instead of a damaged slice
    for (const subscription of this.#subscriptions) subscription.offer(offered)
  }

  #remove(subscription: Subscription): void {
    this.#subscriptions.delete(subscription)
    if (this.#subscriptions.size > 0) return
    this.#unwatch()
    this.#onEmpty()
  }
}
