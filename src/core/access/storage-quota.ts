/**
 * Storage quota per principal, in bytes and documents. The store counts; this node asks it at most every few seconds per owner, and
 * adds what it admits meanwhile. The output of running runs counts at the next measurement and no run is cut off, so an owner can
 * exceed its quota by the output of its running runs.
 */
import { elapsedOf, type Clock } from '../ports/clock.ts'
import { HoldfastError } from '../model/errors.ts'
import type { Limits } from '../model/limits.ts'
import { DOCUMENT_BYTES, RUN_BYTES, storedBytes, type StoredUsage } from '../model/storage-usage.ts'

/** How long a measurement is used: shorter for an owner near its quota, or one that was refused and may have removed something. */
const FRESH_MS = 10_000
const NEAR_MS = 1000
const NEAR_SHARE = 0.9
/** Maximum owners whose measurements are cached. */
const OWNERS_MAX = 10_000

interface OwnerUsageEstimate {
  bytes: number
  documents: number
  readonly countedAt: number
}

/** The document that a write replaces, if any. */
export type BodyBefore = () => Promise<{ readonly body: unknown } | undefined>

export class StorageQuota {
  readonly #maxBytes: number
  readonly #maxDocuments: number
  readonly #usage: StoredUsage
  readonly #clock: Clock
  readonly #estimates = new Map<string, Promise<OwnerUsageEstimate>>()

  constructor(limits: Limits, usage: StoredUsage, clock: Clock) {
    this.#maxBytes = limits.maxStoredBytesPerPrincipal
    this.#maxDocuments = limits.maxDocumentsPerPrincipal
    this.#usage = usage
    this.#clock = clock
  }

  get isLimited(): boolean {
    return this.#maxBytes > 0 || this.#maxDocuments > 0
  }

  /** Throws `quota_exceeded` if the owner may not start another run. `bytes`: estimated size of what the start itself stores. */
  async admitRun(owner: string, bytes: number): Promise<void> {
    const estimate = await this.#current(owner)
    if (this.#isFullOfBytes(estimate)) throw this.#tooManyBytes(estimate)
    estimate.bytes += RUN_BYTES + bytes
  }

  /** Throws `quota_exceeded` if the owner may not write a document. A document may always be replaced by one that is not larger. */
  async admitDocument(owner: string, bytes: number, before: BodyBefore): Promise<void> {
    const estimate = await this.#current(owner)
    const known = this.#isFull(estimate) ? await before() : undefined
    if (known !== undefined && bytes <= Buffer.byteLength(JSON.stringify(known.body))) return
    if (this.#isFullOfBytes(estimate)) throw this.#tooManyBytes(estimate)
    if (this.#isFullOfDocuments(estimate) && known === undefined) throw this.#tooManyDocuments(estimate)
    // Whether it replaces another document is known at the next measurement.
    estimate.bytes += DOCUMENT_BYTES + bytes
    if (known === undefined) estimate.documents++
  }

  async #current(owner: string): Promise<OwnerUsageEstimate> {
    const known = await this.#estimates.get(owner)
    const freshMs = known !== undefined && this.#isNear(known) ? NEAR_MS : FRESH_MS
    if (known !== undefined && elapsedOf(this.#clock) - known.countedAt < freshMs) return known
    const counted = this.#count(owner)
    this.#estimates.delete(owner)
    this.#estimates.set(owner, counted)
    if (this.#estimates.size > OWNERS_MAX) this.#estimates.delete(this.#estimates.keys().next().value!)
    counted.catch(() => this.#estimates.delete(owner))
    return counted
  }

  async #count(owner: string): Promise<OwnerUsageEstimate> {
    const countedAt = elapsedOf(this.#clock)
    const usage = await this.#usage.of(owner)
    return { bytes: storedBytes(usage), documents: usage.documents, countedAt }
  }

  #isNear({ bytes, documents }: OwnerUsageEstimate): boolean {
    return isNear(bytes, this.#maxBytes) || isNear(documents, this.#maxDocuments)
  }

  #isFull(estimate: OwnerUsageEstimate): boolean {
    return this.#isFullOfBytes(estimate) || this.#isFullOfDocuments(estimate)
  }

  #isFullOfBytes({ bytes }: OwnerUsageEstimate): boolean {
    return this.#maxBytes > 0 && bytes >= this.#maxBytes
  }

  #isFullOfDocuments({ documents }: OwnerUsageEstimate): boolean {
    return this.#maxDocuments > 0 && documents >= this.#maxDocuments
  }

  #tooManyBytes({ bytes: stored }: OwnerUsageEstimate): HoldfastError {
    const max = this.#maxBytes
    return new HoldfastError(
      'quota_exceeded',
      `storage quota exceeded: ${stored} of ${max} bytes used. Delete runs or sessions`,
      {
        details: { stored, max },
      },
    )
  }

  #tooManyDocuments({ documents: stored }: OwnerUsageEstimate): HoldfastError {
    const max = this.#maxDocuments
    return new HoldfastError(
      'quota_exceeded',
      `document quota exceeded: ${stored} of ${max} documents used. Delete sessions`,
      {
        details: { stored, max },
      },
    )
  }
}

function isNear(stored: number, max: number): boolean {
  return max > 0 && stored >= max * NEAR_SHARE
}
