/** Deliveries in flight on this node: bounded, and shared between owners and receiving hosts. */

/** Maximum deliveries, of one owner, and to one host. */
const DELIVERIES_MAX = 64
const PER_OWNER_MAX = 8
const PER_HOST_MAX = 4
/** Limit, as a multiple of the maximum, that includes the first delivery of each otherwise idle owner. */
const FIRST_SHARE = 4
/** Maximum subscriptions that wait for a slot. Further ones are found by the scan. */
const WAITING_MAX = 10_000

interface WaitingSubscription {
  readonly owner: string
  readonly id: string
}

export class Deliveries {
  readonly #active = new Map<string, Set<Promise<void>>>()
  /** Without a slot, by owner. */
  readonly #waiting = new Map<string, Set<string>>()
  readonly #perHost = new Map<string, number>()
  #count = 0
  #waitingCount = 0

  /** An owner's first delivery ignores the maximum, so that dead receivers of others cannot delay it. */
  hasRoom(owner: string, host: string | undefined): boolean {
    const own = this.#active.get(owner)?.size ?? 0
    if (own === 0) return this.#count < DELIVERIES_MAX * FIRST_SHARE
    const toHost = host === undefined ? 0 : (this.#perHost.get(host) ?? 0)
    return this.#count < DELIVERIES_MAX && own < PER_OWNER_MAX && toHost < PER_HOST_MAX
  }

  /** `onEnd` gets subscriptions that may try again. */
  start(
    { owner, host }: { readonly owner: string; readonly host: string | undefined },
    work: () => Promise<void>,
    onEnd: (next: readonly WaitingSubscription[]) => void,
  ): void {
    const deliveries = this.#active.get(owner) ?? new Set()
    this.#active.set(owner, deliveries)
    this.#count++
    this.#countHost(host, 1)
    const done = work().finally(() => {
      this.#count--
      this.#countHost(host, -1)
      deliveries.delete(done)
      if (deliveries.size === 0) this.#active.delete(owner)
      onEnd(this.#takeWaiting(owner))
    })
    deliveries.add(done)
  }

  await(owner: string, id: string): void {
    const ids = this.#waiting.get(owner) ?? new Set()
    if (ids.has(id) || this.#waitingCount >= WAITING_MAX) return
    this.#waiting.set(owner, ids.add(id))
    this.#waitingCount++
  }

  isWaiting(owner: string, id: string): boolean {
    return this.#waiting.get(owner)?.has(id) === true
  }

  #countHost(host: string | undefined, change: number): void {
    if (host === undefined) return
    const count = (this.#perHost.get(host) ?? 0) + change
    if (count > 0) this.#perHost.set(host, count)
    else this.#perHost.delete(host)
  }

  async settle(): Promise<void> {
    await Promise.all(Array.from(this.#active.values(), (deliveries) => Promise.all(deliveries)))
  }

  /** One of the owner whose delivery ended, and one of the owner that has waited longest. */
  #takeWaiting(owner: string): readonly WaitingSubscription[] {
    const [longest] = this.#waiting.keys()
    return [...new Set([owner, longest])].flatMap((each) => {
      const ids = each === undefined ? undefined : this.#waiting.get(each)
      const [id] = ids ?? []
      if (each === undefined || ids === undefined || id === undefined) return []
      ids.delete(id)
      this.#waitingCount--
      this.#waiting.delete(each)
      if (ids.size > 0) this.#waiting.set(each, ids) // behind the others
      return [{ owner: each, id }]
    })
  }
}
