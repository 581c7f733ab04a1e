/** What the worker has to look at: written streams and subscriptions, one owner after the other. Lost at a crash: the scan finds it. */

/** Maximum waiting items, of all owners. Further ones are dropped, and found by the scan. */
const ITEMS_MAX = 10_000

export interface WakeItem {
  readonly owner: string
  /** Streams with new content, whose subscriptions are not looked up yet. */
  readonly streams?: ReadonlySet<string>
  /** A subscription that may have work. */
  readonly subscription?: string
  /** Streams that it may have to link, if its pattern matches them. */
  readonly unlinked?: ReadonlySet<string>
}

interface OwnerItems {
  streams: Set<string>
  /** Subscriptions, with the streams that they may have to link. */
  readonly subscriptions: Map<string, Set<string>>
}

export class WakeQueue {
  /** In the order in which the owners get their turns. */
  readonly #owners = new Map<string, OwnerItems>()
  #count = 0
  /** Called when an item arrives. While undefined nothing delivers here, and items are dropped. */
  onItem: (() => void) | undefined

  addStreams(owner: string, names: Iterable<string>): void {
    const added = (items: OwnerItems): boolean => {
      for (const name of names) if (this.#fits(items.streams.has(name))) items.streams.add(name)
      return items.streams.size > 0
    }
    this.#add(owner, added)
  }

  addSubscription(owner: string, id: string, unlinked: Iterable<string> = []): void {
    const added = ({ subscriptions }: OwnerItems): boolean => {
      if (!this.#fits(subscriptions.has(id))) return false
      const names = subscriptions.get(id) ?? new Set()
      for (const name of unlinked) if (this.#fits(names.has(name))) names.add(name)
      subscriptions.set(id, names)
      return true
    }
    this.#add(owner, added)
  }

  /** The next item of an owner that is not busy. The owner's other items wait until the other owners had their turn. */
  take(busy: { has(owner: string): boolean }): WakeItem | undefined {
    for (const [owner, items] of this.#owners) {
      if (busy.has(owner)) continue
      this.#owners.delete(owner)
      const item = this.#itemOf(owner, items)
      if (items.streams.size > 0 || items.subscriptions.size > 0) this.#owners.set(owner, items)
      return item
    }
    return undefined
  }

  #itemOf(owner: string, items: OwnerItems): WakeItem {
    for (const [subscription, unlinked] of items.subscriptions) {
      items.subscriptions.delete(subscription)
      this.#count -= 1 + unlinked.size
      return { owner, subscription, unlinked }
    }
    const { streams } = items
    items.streams = new Set()
    this.#count -= streams.size
    return { owner, streams }
  }

  #add(owner: string, addTo: (items: OwnerItems) => boolean): void {
    if (this.onItem === undefined) return
    const items = this.#owners.get(owner) ?? { streams: new Set(), subscriptions: new Map() }
    if (addTo(items)) this.#owners.set(owner, items)
    this.onItem()
  }

  /** Counts an item unless it is known already. */
  #fits(isKnown: boolean): boolean {
    if (isKnown) return true
    if (this.#count >= ITEMS_MAX) return false
    this.#count++
    return true
  }
}
