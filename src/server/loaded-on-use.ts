/** What `holdfast` exports and few applications use: `import 'holdfast'` loads none of it until it is called. */
import type { Store } from '../core/ports/store.ts'
import type { OpenSqliteOptions } from '../stores/sqlite/index.ts'
import type { Server, ServerOptions } from './create-server.ts'

export async function createServer(options: ServerOptions): Promise<Server> {
  const module = await import('./create-server.ts')
  return module.createServer(options)
}

export async function openSqliteStore(options: OpenSqliteOptions): Promise<Store> {
  const module = await import('../stores/sqlite/index.ts')
  return module.openSqliteStore(options)
}
