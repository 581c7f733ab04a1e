/** An in-process server, for custom limits or components. */
import { onTestFinished } from 'vitest'
import { labComponents } from '../../src/agents/lab/kinds.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createServer, type Server, type ServerOptions } from '../../src/server/create-server.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { mountedIn } from './mounted.ts'
import { temporaryDatabase } from './temporary.ts'

export interface InProcessOptions extends Partial<Omit<ServerOptions, 'store'>> {
  /** Path of the database. Default: a new one. */
  readonly path?: string
  readonly store?: Store
}

/** Shared default key, so that servers of one test can decrypt each other's secrets. */
const SECRET_KEY = '5e'.repeat(32)

/** Serves the lab by default; stopped after the test. Standalone, or mounted according to `HOLDFAST_TEST_MOUNT`. */
export async function serveInProcess(options: InProcessOptions = {}): Promise<Server> {
  const server = await openInProcess(options)
  onTestFinished(() => server.close())
  return server
}

/** Like `serveInProcess`, for several tests: the caller closes it. */
export async function openInProcess({ path, store, ...options }: InProcessOptions): Promise<Server> {
  return (mountedIn(options) ?? createServer)({
    components: labComponents(),
    store: store ?? (await openSqliteStore({ path: path ?? temporaryDatabase() })),
    secretKeys: [SECRET_KEY],
    ...options,
    limits: { drainTimeoutMs: 0, ...options.limits },
  })
}
