/** The PostgreSQL store passes the conformance suite, on a real server. */
import type { Clock } from '../../src/core/ports/clock.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { storeConformance } from '../../src/testing/stores.ts'
import { startPostgres } from '../support/postgres.ts'

// Each list of random commands needs tables of its own and some hundred round trips.
process.env['HOLDFAST_MODEL_RUNS'] ??= '20'

const server = await startPostgres()
const schemas = new WeakMap<Store, string>()
let opened = 0

async function open(schema: string, clock: Clock): Promise<Store> {
  const store = await openPostgresStore({ url: server.url, schema, clock, connections: 4 })
  schemas.set(store, schema)
  return store
}

storeConformance({
  name: 'postgres',
  open: ({ clock }) => open(`conformance_${++opened}`, clock),
  // A process cannot kill itself, so the store is closed first; test/scenarios/nodes kills real ones.
  reopen: async (store, { clock }) => {
    await store.close()
    return open(schemas.get(store)!, clock)
  },
})
