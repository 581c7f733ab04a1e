/**
 * Quotas per principal: starts per second, open streams, worker slots, stored bytes and documents. The service checks them for all
 * protocols. Without authentication all callers are one principal, which has no per-principal limits.
 */
import { type Clock, elapsedOf } from '../ports/clock.ts'
import { HoldfastError } from '../model/errors.ts'
import type { Limits } from '../model/limits.ts'
import { localOwner } from '../model/principal.ts'
import { type BodyBefore, StorageQuota } from './storage-quota.ts'
import { TokenBuckets } from '../runtime/token-bucket.ts'
import type { StoredUsage } from '../model/storage-usage.ts'

export class PrincipalQuotas {
  readonly #limits: Limits
  readonly #starts: TokenBuckets
  readonly #streams: Shares
  readonly #slots: Shares
  readonly #storage: StorageQuota

  constructor(limits: Limits, usage: StoredUsage, clock: Clock) {
    this.#limits = limits
    this.#storage = new StorageQuota(limits, usage, clock)
    const { maxStartsPerSecond: perSecond, maxStartBurst: burst } = limits
    this.#starts = new TokenBuckets({ perSecond, burst, now: () => elapsedOf(clock) })
    this.#streams = new Shares(limits.maxStreamsPerPrincipal)
    this.#slots = new Shares(slotsPerPrincipal(limits))
  }

  /** Throws `rate_limited` when the owner starts runs too fast. */
  takeStart(owner: string): void {
    if (owner === localOwner) return
    const retryAfterMs = this.#starts.take(owner)
    if (retryAfterMs === 0) return
    const { maxStartsPerSecond: most } = this.#limits
    throw new HoldfastError('rate_limited', `starts are limited to ${most} per second: try again later`, {
      retryAfterMs,
    })
  }

  /** Throws `quota_exceeded` if the owner has reached its storage quota. `bytes`: size of what the start itself stores. */
  async storeRun(owner: string, bytes: number): Promise<void> {
    if (owner !== localOwner && this.#storage.isLimited) await this.#storage.admitRun(owner, bytes)
  }

  /** Throws `quota_exceeded` if the owner may not write a document of this size. */
  async storeDocument(owner: string, bytes: number, before: BodyBefore): Promise<void> {
    if (owner !== localOwner && this.#storage.isLimited) await this.#storage.admitDocument(owner, bytes, before)
  }

  /** Counts a stream until the returned function is called. Throws `rate_limited` when the owner has too many open. */
  openStream(owner: string): () => void {
    this.requireStream(owner)
    return this.#streams.take(owner)
  }

  /** Throws `rate_limited` if the owner has reached its limit of open streams. */
  requireStream(owner: string): void {
    if (!this.#streams.isFull(owner)) return
    const { maxStreamsPerPrincipal: most, retryDelayMs: retryAfterMs } = this.#limits
    throw new HoldfastError(
      'rate_limited',
      `you have ${most} streams open on this node, which is the limit: close one`,
      { retryAfterMs },
    )
  }

  /** Whether the owner's runs use its whole share of the worker slots. Its queued runs then wait, and those of others go first. */
  isAtSlotShare(owner: string): boolean {
    return this.#slots.isFull(owner)
  }

  /** Filters queued runs, in order, to those whose owners have slots left. */
  withinSlotShares<Queued extends { readonly owner: string }>(queued: readonly Queued[]): Queued[] {
    const releases: (() => void)[] = []
    const within = queued.filter(({ owner }) => {
      if (this.#slots.isFull(owner)) return false
      releases.push(this.#slots.take(owner))
      return true
    })
    for (const release of releases) release()
    return within
  }

  /** Fast path: false if no owner could exceed its share with `more` additional runs. */
  mayExceedSlotShare(more: number): boolean {
    return this.#slots.highest + more > this.#slots.most
  }

  takeSlot(owner: string): () => void {
    return this.#slots.take(owner)
  }
}

/** Default: half of the node's slots, and at least one. */
export function slotsPerPrincipal({ maxRunsPerPrincipal, maxConcurrentRuns }: Limits): number {
  return maxRunsPerPrincipal > 0 ? maxRunsPerPrincipal : Math.max(1, Math.ceil(maxConcurrentRuns / 2))
}

/** Counts per owner. */
class Shares {
  readonly most: number
  readonly #counts = new Map<string, number>()

  constructor(most: number) {
    this.most = most
  }

  /** The highest count of any owner. */
  get highest(): number {
    let highest = 0
    for (const count of this.#counts.values()) highest = Math.max(highest, count)
    return highest
  }

  isFull(owner: string): boolean {
    return (this.#counts.get(owner) ?? 0) >= this.most
  }

  /** Adds one. The returned function subtracts it again, once. */
  take(owner: string): () => void {
    if (owner === localOwner) return () => {}
    this.#change(owner, 1)
    let isReturned = false
    return () => {
      if (!isReturned) this.#change(owner, -1)
      isReturned = true
    }
  }

  #change(owner: string, change: number): void {
    const count = (this.#counts.get(owner) ?? 0) + change
    if (count > 0) this.#counts.set(owner, count)
    else this.#counts.delete(owner)
  }
}
