/** A table that is locked for long: server-side timeouts end waiting statements, and no backend is left behind. */
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { cancelBackend } from '../../src/stores/postgres/cancel-request.ts'
import { openPostgresStore, type OpenPostgresOptions } from '../../src/stores/postgres/index.ts'
import { INSTALL_MS } from '../support/apt.ts'
import { startPgBouncer } from '../support/pgbouncer.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { startRun } from './failing-servers.ts'

const server = await startPostgres()
const CONNECTIONS = 3
/** Besides those: two for commits, one for renewals, one that listens. */
const MORE_CONNECTIONS = 4
const ANSWER_MS = 500
const LOCKED_MS = 8 * ANSWER_MS

/** Backends that work or wait for a node or for a proxy in front of it. */
async function backends(of: PostgresServer): Promise<number> {
  const rows = await of.query(
    `SELECT FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
       AND application_name <> 'locker'`,
  )
  return rows.length
}

/** Peak number of backends while the tables are locked and a node keeps sending queries. */
async function backendsWhileLocked(
  options: Partial<OpenPostgresOptions> & { readonly schema: string },
): Promise<number> {
  const { schema } = options
  const requestTimeoutMs = ANSWER_MS
  const store = await openPostgresStore({
    url: server.url,
    connections: CONNECTIONS,
    requestTimeoutMs,
    outageTimeoutMs: 60_000,
    ...options,
  })
  onTestFinished(() => store.close())
  const runWriter = await startRun(store)
  const locker = new pg.Client({ connectionString: server.url, application_name: 'locker' })
  await locker.connect()
  onTestFinished(() => locker.end())
  await locker.query('BEGIN')
  await locker.query(`LOCK TABLE ${schema}.heads, ${schema}.runs IN ACCESS EXCLUSIVE MODE`)
  runWriter.text('waits for the lock')
  const flushed = runWriter.flush()
  let isOver = false
  const ask = async (): Promise<void> => {
    while (!isOver) await store.get(runWriter.id).catch(() => {})
  }
  const renew = async (): Promise<void> => {
    while (!isOver) await store.renew('worker-1', 60_000).catch(() => {})
  }
  const asking = [...Array.from({ length: CONNECTIONS }, ask), renew()]
  let most = 0
  const since = performance.now()
  await until('the lock was held for long', async () => {
    most = Math.max(most, await backends(server))
    return performance.now() - since > LOCKED_MS
  })
  isOver = true
  await locker.query('COMMIT')
  await Promise.all([flushed, ...asking])
  expect(await store.get(runWriter.id)).toMatchObject({ next: 3 })
  return most
}

test('PostgreSQL: a table that is locked for long occupies no more backends than a node has connections', async () => {
  expect(await backendsWhileLocked({ schema: 'locked' })).toBeLessThanOrEqual(CONNECTIONS + MORE_CONNECTIONS)
})

test(
  'PostgreSQL: a locked table occupies no more backends behind a transaction pooler',
  { timeout: INSTALL_MS },
  async () => {
    const url = await startPgBouncer(server)
    // As many as the proxy has in its pool, the one that listens, and those that the proxy itself keeps for a moment.
    expect(await backendsWhileLocked({ schema: 'pooled', url, directUrl: server.url })).toBeLessThanOrEqual(3 + 1 + 1)
  },
)

test('PostgreSQL: a cancel request ends a backend’s wait', async () => {
  const sleeper = new pg.Client({ connectionString: server.url, application_name: 'locker' })
  await sleeper.connect()
  onTestFinished(() => sleeper.end())
  const sleeping = sleeper.query('SELECT pg_sleep(600)')
  await until(
    'it sleeps',
    async () => (await server.query(`SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'`)).length === 1,
  )
  cancelBackend(sleeper)
  await expect(sleeping).rejects.toMatchObject({ code: '57014' })
})
