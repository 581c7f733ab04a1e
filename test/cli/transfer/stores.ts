/** Stores to copy between, by address (the value of `--store`). */
import { join } from 'node:path'
import { labAgent } from '../../../src/agents/lab/agent.ts'
import { labComponents } from '../../../src/agents/lab/kinds.ts'
import type { Store } from '../../../src/core/ports/store.ts'
import { configOptions } from '../../../src/server/config/config-options.ts'
import { openStore } from '../../../src/server/store/open-store.ts'
import { serveInProcess } from '../../support/in-process.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { type Contents, contentsOf } from './contents.ts'

export function sqliteAddress(): string {
  return `sqlite:${join(temporaryFolder(), 'runs.db')}`
}

export function openAddress(address: string): Promise<Store> {
  return openStore(configOptions.store.parse(address))
}

/** Content of a store that no process has open. */
export async function contentsIn(address: string): Promise<Contents> {
  const store = await openAddress(address)
  try {
    return await contentsOf(store)
  } finally {
    await store.close()
  }
}

export interface ServedStore {
  readonly url: string
  readonly store: Store
  stop(): Promise<void>
}

const components = [...labComponents(), { ...labAgent({ id: 'lab-queue' }), onBusySession: 'enqueue' } as const]

export async function serveStore(address: string): Promise<ServedStore> {
  const store = await openAddress(address)
  // Short leases: runs of a stopped server are claimed again soon.
  const server = await serveInProcess({ store, components, limits: { leaseMs: 1000 } })
  return { url: server.url, store, stop: () => server.close() }
}
