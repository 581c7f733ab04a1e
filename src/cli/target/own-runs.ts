/** Restricts a store to the runs that a command executes itself. */
import type { Component } from '../../core/ports/component.ts'
import type { Store } from '../../core/ports/store.ts'

/** Only runs of these components that were created since then are claimable. Others wait for a server. */
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
      // Bind to the store itself, because private fields do not work on a proxy.
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}
