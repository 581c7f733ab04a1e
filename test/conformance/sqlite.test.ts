/** The SQLite store passes the conformance suite. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { Store } from '../../src/core/ports/store.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { overriding } from '../../src/testing/broken-stores.ts'
import { storeConformance } from '../../src/testing/stores.ts'
import { crashedCopy } from '../support/crashed-copy.ts'

// Each list of random commands opens some files, with two threads each.
process.env['HOLDFAST_MODEL_RUNS'] ??= '30'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-conformance-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0

/** Which file a store has open, and whether it counts as killed: its later results are then ignored. */
const processes = new WeakMap<Store, { path: string; clock: { now(): number }; killed: boolean }>()

async function open(path: string, clock: { now(): number }): Promise<Store> {
  const store = await openSqliteStore({ path, clock })
  const process = { path, clock, killed: false }
  const seen = overriding(store, {
    watch: (id, listener) => store.watch(id, (hint) => void (process.killed || listener(hint))),
  })
  processes.set(seen, process)
  return seen
}

storeConformance({
  name: 'sqlite',
  open: ({ clock }) => open(join(folder, `store-${++files}.db`), clock),
  // What a kill would leave now, under another name: the lock is this process's own. test/scenarios kills real processes.
  reopen: async (store) => {
    const process = processes.get(store)!
    const copy = join(folder, `store-${++files}.db`)
    crashedCopy(process.path, copy)
    process.killed = true
    await store.close()
    return open(copy, process.clock)
  },
  leasesSurviveReopen: false,
})
