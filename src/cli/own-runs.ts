/** A store as a command sees it that drives one run and leaves all others alone. */
import type { Component } from '../core/ports/component.ts'
import type { Store } from '../core/ports/store.ts'

/** Only runs that were made since, of these components, are found to be claimable: the others wait for a server that has theirs. */
export function onlyOwnRuns(store: Store, components: readonly Component[], since: number): Store {
  const known = new Set(components.map(({ id }) => id))
  const claimable: Store['claimable'] = async (limit) => {
    const found = await Promise.all((await store.claimable(limit)).map((id) => store.get(id)))
    return found.flatMap((stored) => {
      const isOwn = stored !== undefined && known.has(stored.run.component) && Date.parse(stored.run.createdAt) >= since
      return isOwn ? [stored.run.id] : []
    })
  }
  return new Proxy(store, {
    get(target, key) {
      if (key === 'claimable') return claimable
      const value: unknown = Reflect.get(target, key, target)
      // Of the store itself: its fields are private, and a proxy has none.
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}
