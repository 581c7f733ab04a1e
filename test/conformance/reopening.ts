/** Targets on a memory store that outlives its handles, as a file does. */
import type { Clock } from '../../src/core/ports/clock.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { overriding } from '../../src/testing/broken-stores.ts'
import type { StoreTarget } from '../../src/testing/stores.ts'

export interface Reopening extends Pick<StoreTarget, 'name' | 'leasesSurviveReopen'> {
  readonly open: (options: { readonly clock: Clock }) => Store
  /** The view of one process on the store. */
  readonly handle: (store: Store, handle: { readonly isFirst: boolean }) => Store
  /** The process that has a handle dies. */
  readonly kill?: (handle: Store) => void
  /** Called when the next process opens the store. */
  readonly recover?: (store: Store) => Promise<void>
}

export function reopening({ open, handle, kill, recover, ...target }: Reopening): StoreTarget {
  const kept = new WeakMap<Store, Store>()
  const handleOf = (store: Store, isFirst: boolean): Store => {
    const seen = handle(store, { isFirst })
    kept.set(seen, store)
    return seen
  }
  return {
    ...target,
    patienceMs: 100,
    open: async (options) =>
      handleOf(overriding(open(options), { capabilities: { durable: true, shared: false } }), true),
    reopen: async (seen) => {
      const store = kept.get(seen)!
      kill?.(seen)
      await recover?.(store)
      return handleOf(store, false)
    },
  }
}
