/** Opens the configured store. Loads only its adapter. */
import { type Logger, silentLogger } from '../../core/ports/logger.ts'
import type { Store } from '../../core/ports/store.ts'
import { type StoreConfig, toStore } from './store-address.ts'

/** `store`: an address, such as `sqlite:runs.db`, or a parsed one. */
export async function openStore(store: string | StoreConfig, logger?: Logger): Promise<Store> {
  const open = await loadStore(typeof store === 'string' ? toStore(store) : store, logger)
  return open()
}

/** Loads the adapter and returns a function that opens the store. */
export async function loadStore(config: StoreConfig, logger: Logger = silentLogger): Promise<() => Promise<Store>> {
  switch (config.kind) {
    case 'memory': {
      const { createMemoryStore } = await import('../../stores/memory.ts')
      return () => Promise.resolve(createMemoryStore())
    }
    case 'sqlite': {
      const { openSqliteStore } = await import('../../stores/sqlite/index.ts')
      return () => openSqliteStore({ path: config.path, logger })
    }
    case 'postgres': {
      const { openPostgresStore } = await import('../../stores/postgres/index.ts')
      return () => openPostgresStore(config)
    }
    case 'nats': {
      const { openNatsStore } = await import('../../stores/nats/index.ts')
      return () => openNatsStore({ ...config, logger })
    }
  }
}
