/** From a store's address to a store. Adapters are loaded when they are asked for. */
import type { Store } from '../core/store.ts'
import type { StoreConfig } from './config.ts'

export async function openStore(config: StoreConfig): Promise<Store> {
  switch (config.kind) {
    case 'memory':
      return (await import('../stores/memory.ts')).openMemoryStore()
    case 'sqlite':
      return (await import('../stores/sqlite/index.ts')).openSqliteStore({ path: config.path })
    case 'postgres':
      return (await import('../stores/postgres/index.ts')).openPostgresStore(config)
  }
}
