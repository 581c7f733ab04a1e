/** The components that each worker serves (`Store.renew`), for stores that hold this in memory. */

interface Service {
  readonly until: number
  /** Undefined: the worker reported none, so it may serve all. */
  readonly components: readonly string[] | undefined
}

/** Remembers the components that each worker serves, and finds those that no worker serves (`Store.unserved`). */
export class ServedComponents {
  readonly #services = new Map<string, Service>()

  /** Call this with every renewal. `components` undefined: the worker serves all. */
  note(owner: string, until: number, components: readonly string[] | undefined): void {
    this.#services.set(owner, { until, components })
  }

  /** The components of these runs that no live worker serves. */
  without<Item>(items: Iterable<Item>, componentOf: (item: Item) => string, now: number): string[] {
    for (const [worker, { until }] of this.#services) if (until <= now) this.#services.delete(worker)
    const live = [...this.#services.values()]
    if (live.some(({ components }) => components === undefined)) return []
    const served = new Set(live.flatMap(({ components }) => components ?? []))
    const unserved = new Set<string>()
    for (const item of items) if (!served.has(componentOf(item))) unserved.add(componentOf(item))
    return [...unserved]
  }
}
