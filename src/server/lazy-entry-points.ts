/** Entry points of `holdfast` that few applications use: `import 'holdfast'` loads their code only when they are called. */
import type { Store } from '../core/ports/store.ts'
import type { OpenSqliteOptions } from '../stores/sqlite/index.ts'
import type { HoldfastServer, ServerOptions } from './create-server.ts'
import type { HoldfastWorker, WorkerOptions } from './create-worker.ts'

/** Serves components over HTTP, on its own port. */
export async function createServer(options: ServerOptions): Promise<HoldfastServer> {
  const module = await import('./create-server.ts')
  return module.createServer(options)
}

/** Executes runs of a shared store without serving requests, like `holdfast worker`. */
export async function createWorker(options: WorkerOptions): Promise<HoldfastWorker> {
  const module = await import('./create-worker.ts')
  return module.createWorker(options)
}

/** Opens a SQLite file as a store. Only one process may have it open. */
export async function openSqliteStore(options: OpenSqliteOptions): Promise<Store> {
  const module = await import('../stores/sqlite/index.ts')
  return module.openSqliteStore(options)
}
