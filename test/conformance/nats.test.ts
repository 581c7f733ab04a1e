/** The NATS store passes the conformance suite, on the oldest and on the newest supported server. */
import type { Clock } from '../../src/core/ports/clock.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { openNatsStore } from '../../src/stores/nats/index.ts'
import { storeConformance } from '../../src/testing/stores.ts'
import { startNats } from '../support/nats.ts'

// Each list of random commands needs streams of its own and some hundred round trips.
process.env['HOLDFAST_MODEL_RUNS'] ??= '20'

for (const release of ['oldest', 'newest'] as const) {
  const server = await startNats({ release })
  const names = new WeakMap<Store, string>()
  let opened = 0
  const open = async (name: string, clock: Clock): Promise<Store> => {
    const store = await openNatsStore({ servers: [server.address], name, partitions: 2, clock })
    names.set(store, name)
    return store
  }
  storeConformance({
    name: `nats, ${release} release`,
    open: ({ clock }) => open(`conformance-${++opened}`, clock),
    // A process cannot kill itself, so the store is closed first; test/scenarios/nodes kills real ones.
    reopen: async (store, { clock }) => {
      await store.close()
      return open(names.get(store)!, clock)
    },
  })
}
