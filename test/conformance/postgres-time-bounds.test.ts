/** PostgreSQL itself ends statements of a node that run or wait for too long, even if the node is gone. */
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { Database, Reachability } from '../../src/stores/postgres/database.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { startPostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'

const server = await startPostgres()

async function open(schema: string, requestTimeoutMs: number) {
  const store = await openPostgresStore({ url: server.url, schema, requestTimeoutMs })
  onTestFinished(() => store.close())
  return store
}

test('PostgreSQL: a statement that takes longer than requestTimeoutMs is ended by statement_timeout', async () => {
  const store = await open('slow', 500)
  await server.query(
    `CREATE OR REPLACE FUNCTION slow.clock(p_now bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
       SELECT coalesce(p_now, 0) FROM pg_sleep(3600) $$`,
  )
  const renewed = store.renew('worker-1', 60_000)
  renewed.catch(() => {}) // looked at below
  await until('the server ended it', () => server.output.includes('canceling statement due to statement timeout'))
  await expect(renewed).rejects.toMatchObject({ code: 'unavailable' })
})

test('PostgreSQL: a statement that waits for a lock is ended by lock_timeout, long before requestTimeoutMs', async () => {
  const store = await open('locked', 600_000)
  const locker = new pg.Client({ connectionString: server.url })
  await locker.connect()
  onTestFinished(() => locker.end())
  await locker.query('BEGIN')
  await locker.query('LOCK TABLE locked.heads, locked.runs IN ACCESS EXCLUSIVE MODE')
  const waiting = store.get('run_none').catch(() => {}) // it is tried again for a while
  await until('the server ended it', () => server.output.includes('canceling statement due to lock timeout'))
  await locker.query('COMMIT')
  await waiting
  expect(await store.get('run_none')).toBeUndefined()
})

test('PostgreSQL: a statement for which no connection is free fails, and the server does not count as unreachable', async () => {
  const locker = new pg.Client({ connectionString: server.url })
  await locker.connect()
  onTestFinished(() => locker.end())
  await locker.query('SELECT pg_advisory_lock(1)')
  const reachability = new Reachability()
  const bounds = { statementMs: 600_000, lockMs: 600_000, scope: 'session' } as const
  const database = new Database(await import('pg'), {
    url: server.url,
    reachability,
    connections: 1,
    bounds,
    connectMs: 1000,
  })
  onTestFinished(() => database.close())
  await database.query('SELECT 1', []) // the connection is open
  const waiting = database.query('SELECT pg_advisory_lock(1)', [])
  await expect(database.once('SELECT 1', [])).rejects.toMatchObject({
    code: 'unavailable',
    internalMessage: expect.stringContaining('all 1 connections were busy') as string,
  })
  expect(reachability.health()).toEqual({ ok: true })
  await locker.query('SELECT pg_advisory_unlock(1)')
  await waiting
})
