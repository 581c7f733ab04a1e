/**
 * Decides when a node may take over runs that other nodes leased. Leases expire by the store's clock, even while no node can reach the
 * store. So the first node that reconnects must not take over leases that the others could not renew.
 *
 * A gap: no successful renewal for more than two thirds of a lease (renewals are due every third). A store outage that lasts until
 * another node's lease expires is a gap on this node too. After a gap, and after startup, the node takes over nothing until one lease
 * has passed since its first successful renewal.
 */
const GAP_PART = 2 / 3

export class RenewalGap {
  readonly #leaseMs: number
  /** When the last successful renewal was sent. If it ended a gap: when its response arrived. */
  #renewedAt: number | undefined
  #deferredUntil = Infinity

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs
  }

  /** Notes a successful renewal. Returns true if it ended a gap. */
  renewed(sentAt: number, now: number): boolean {
    const wasGap = this.#isGap(now)
    if (wasGap) this.#deferredUntil = now + this.#leaseMs
    this.#renewedAt = wasGap ? now : sentAt
    return wasGap
  }

  mayTakeOver(now: number): boolean {
    return !this.#isGap(now) && now >= this.#deferredUntil
  }

  #isGap(now: number): boolean {
    return this.#renewedAt === undefined || now - this.#renewedAt > this.#leaseMs * GAP_PART
  }
}
