/** From a store's address to a store. Adapters are loaded when they are asked for. */
import { type Logger, silentLogger } from '../core/ports/logger.ts'
import type { Store } from '../core/ports/store.ts'
import type { StoreConfig } from './config-options.ts'

/** `logger` is told what an operator should know about the store. */
export async function openStore(config: StoreConfig, logger?: Logger): Promise<Store> {
  const open = await loadStore(config, logger)
  return open()
}

/** Loads what a store needs; what it gives opens the store, and has begun to when it returns. */
export async function loadStore(config: StoreConfig, logger: Logger = silentLogger): Promise<() => Promise<Store>> {
  switch (config.kind) {
    case 'memory': {
      const { openMemoryStore } = await import('../stores/memory.ts')
      return () => Promise.resolve(openMemoryStore())
    }
    case 'sqlite': {
      const { openSqliteStore } = await import('../stores/sqlite/index.ts')
      return () => openSqliteStore({ path: config.path, logger })
    }
    case 'postgres': {
      const { openPostgresStore } = await import('../stores/postgres/index.ts')
      return () => openPostgresStore(config)
    }
    case 'nats': {
      const { openNatsStore } = await import('../stores/nats/index.ts')
      return () => openNatsStore({ ...config, logger })
    }
  }
}
