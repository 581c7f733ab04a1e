/** A server in the test's own process, for what needs other limits or components than the command line gives. */
import { onTestFinished } from 'vitest'
import { labComponents } from '../../src/agents/lab/kinds.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createServer, type Server, type ServerOptions } from '../../src/server/create-server.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { temporaryDatabase } from './temporary.ts'

export interface InProcessOptions extends Partial<Omit<ServerOptions, 'store'>> {
  /** Path of the database; a new one where none is given. */
  readonly path?: string
  readonly store?: Store
}

/** Every server of a test that names no other can decrypt what another one stored. */
const SECRET_KEY = '5e'.repeat(32)

/** Serves the lab, where no other components are given; stopped when the test is over. */
export async function serveInProcess({ path, store, ...options }: InProcessOptions = {}): Promise<Server> {
  const server = await createServer({
    components: labComponents(),
    store: store ?? (await openSqliteStore({ path: path ?? temporaryDatabase() })),
    secretKeys: [SECRET_KEY],
    ...options,
    limits: { drainTimeoutMs: 0, ...options.limits },
  })
  onTestFinished(() => server.stop())
  return server
}
