/**
 * When a node may take over what others leased. Leases expire by the store's clock, also while nobody can reach the store to renew
 * them; so the first node that is back must not take what the others have had no chance to renew.
 *
 * A gap is a time in which a node could not renew for more than a third of a lease beyond the third at which it was due. Whatever keeps
 * another node's lease from being renewed until it expires, and is an outage of the store, is a gap here too. After one, the node
 * takes nothing over until a lease has passed since its first renewal. To have started counts as a gap: nothing is known of before.
 */
const GAP_PART = 2 / 3

export class RenewalGap {
  readonly #leaseMs: number
  /** When the last renewal was sent that was answered; when it was answered, where that took a gap. */
  #renewedAt: number | undefined
  #deferredUntil = Infinity

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs
  }

  /** A renewal that was sent at one moment was answered at another; true when a gap ended with it. */
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
