/** The embedded store keeps every promise of the store seam. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { Store } from '../../src/core/store.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { storeConformance } from '../../src/testing/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-conformance-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0

const paths = new WeakMap<Store, { path: string; clock: { now(): number } }>()

async function open(path: string, clock: { now(): number }): Promise<Store> {
  const store = await openSqliteStore({ path, clock })
  paths.set(store, { path, clock })
  return store
}

storeConformance({
  name: 'sqlite',
  open: ({ clock }) => open(join(folder, `store-${++files}.db`), clock),
  // The lock is this process's own, so the file is closed first; test/scenarios kills real processes.
  reopen: async (store) => {
    const { path, clock } = paths.get(store)!
    await store.close()
    return open(path, clock)
  },
  leasesSurviveReopen: false,
})
