/** The cluster store keeps every promise of the store seam, on a real server. */
import type { Clock } from '../../src/core/clock.ts'
import type { Store } from '../../src/core/store.ts'
import { openNatsStore } from '../../src/stores/nats/index.ts'
import { storeConformance } from '../../src/testing/index.ts'
import { startNats } from '../support/nats.ts'

// Each list of random commands needs streams of its own and some hundred round trips.
process.env['HOLDFAST_MODEL_RUNS'] ??= '40'

const server = await startNats()
const names = new WeakMap<Store, string>()
let opened = 0

async function open(name: string, clock: Clock): Promise<Store> {
  const store = await openNatsStore({ servers: [server.address], name, partitions: 2, clock })
  names.set(store, name)
  return store
}

storeConformance({
  name: 'nats',
  open: ({ clock }) => open(`conformance-${++opened}`, clock),
  // A process cannot kill itself, so the store is closed first; test/scenarios/nodes kills real ones.
  reopen: async (store, { clock }) => {
    await store.close()
    return open(names.get(store)!, clock)
  },
})
