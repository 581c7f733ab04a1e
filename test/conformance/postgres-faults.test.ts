/** Store faults on PostgreSQL: after a lost response, the outcome is looked up, not assumed. */
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Store } from '../../src/core/ports/store.ts'
import { openPostgresStore, type OpenPostgresOptions } from '../../src/stores/postgres/index.ts'
import { readRecords } from '../../src/testing/conformance/reading.ts'
import { newRun } from '../../src/testing/fixtures.ts'
import { PostgresServer, startPostgres } from '../support/postgres.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import {
  expectClaimedOnce,
  expectFoundWritten,
  expectRefused,
  flushEveryTick,
  newRunId,
  startRun,
  writeUnderLoad,
} from './failing-servers.ts'

const server = await startPostgres()
let schemas = 0

const newSchema = (): string => `faults_${++schemas}`

/** A node's store, by the database's own clock; closed when the test is over. */
async function open(options: Partial<OpenPostgresOptions> & { schema: string }): Promise<Store> {
  const store = await openPostgresStore({ url: server.url, connections: 3, ...options })
  onTestFinished(() => store.close())
  return store
}

const through = (proxy: TcpProxy): string => server.url.replace(`:${server.port}/`, `:${proxy.port}/`)

/** How many records the database itself has of a run. */
async function recordsInDatabase(schema: string, id: string): Promise<number> {
  const [row] = await server.query<{ next: number }>(`SELECT next FROM ${schema}.heads WHERE id = $1`, [id])
  return row?.next ?? 0
}

describe('PostgreSQL: an append whose response is lost', () => {
  test('[LOG-1] an append that was written is found, and not written twice', async () => {
    const schema = newSchema()
    const proxy = await startTcpProxy(server.port)
    const store = await open({ schema, url: through(proxy) })
    const runWriter = await startRun(store)
    proxy.loseAnswers()
    runWriter.text('was this written? ')
    runWriter.complete()
    const flushed = runWriter.flush()
    await until('the database has it', async () => (await recordsInDatabase(schema, runWriter.id)) === 4)
    proxy.heal()
    proxy.cut()
    await flushed
    expect(await readRecords(store, runWriter.id)).toEqual(runWriter.records)
    expect(await store.get(runWriter.id)).toMatchObject({ run: { status: 'completed' }, next: 4 })
  })

  test('[LOG-1] an append that was not written is written', async () => {
    const schema = newSchema()
    const proxy = await startTcpProxy(server.port)
    const store = await open({ schema, url: through(proxy) })
    const runWriter = await startRun(store)
    proxy.block()
    runWriter.text('this never arrives')
    const flushed = runWriter.flush()
    await until('the commit is on its way', () => store.health().ok && runWriter.writer.pending === 1)
    proxy.heal()
    proxy.cut()
    await flushed
    expect(await readRecords(store, runWriter.id)).toEqual(runWriter.records)
  })

  test('[LOG-4] an append that was written is found although another worker has claimed the run since', async () => {
    const schema = newSchema()
    const proxy = await startTcpProxy(server.port)
    const [cutOff, other] = [await open({ schema, url: through(proxy) }), await open({ schema })]
    const id = await expectFoundWritten(proxy, cutOff, other)
    expect(await recordsInDatabase(schema, id)).toBe(3)
  })
})

describe('PostgreSQL: a command whose response is lost', () => {
  test('[RUN-4] creates one run, reported as created', async () => {
    const schema = newSchema()
    const proxy = await startTcpProxy(server.port)
    const store = await open({ schema, url: through(proxy) })
    for (const options of [
      {},
      { idempotency: { key: 'one', fingerprint: 'body' } },
      { lane: 'lane-1', rejectIfBusy: true },
    ]) {
      const draft = newRun(newRunId(), new Date().toISOString(), options)
      proxy.loseAnswers()
      const creating = store.create(draft)
      await until('the database has it', async () => (await recordsInDatabase(schema, draft.run.id)) === 1)
      proxy.heal()
      proxy.cut()
      expect(await creating).toMatchObject({ kind: 'created', stored: { run: draft.run, next: 1 } })
    }
    expect((await store.list({ limit: 10 })).runs).toHaveLength(3)
  })

  test('[LOG-4] claims once, for the node that asked', async () => {
    const schema = newSchema()
    const proxy = await startTcpProxy(server.port)
    const [store, other] = [await open({ schema, url: through(proxy) }), await open({ schema })]
    await expectClaimedOnce(proxy, store, other)
  })
})

test('[LOG-4] PostgreSQL: a worker that was cut off while its lease expired by the database’s clock writes nothing more', async () => {
  const schema = newSchema()
  const proxy = await startTcpProxy(server.port)
  const [cutOff, other] = [await open({ schema, url: through(proxy) }), await open({ schema })]
  await expectRefused(proxy, cutOff, other)
})

test('[LOG-1] [LOG-2] PostgreSQL: a server restarted under load, cleanly or by a crash, loses, duplicates and changes nothing', async () => {
  const schema = newSchema()
  const [store, other] = [await open({ schema }), await open({ schema })]
  const { runWriters, durable, done } = await writeUnderLoad(store, 20, 120)
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGQUIT'] as const) {
    const before = durable()
    await until('some more is written', () => durable() > before + 200 || durable() === 2400, { withinMs: 180_000 })
    await server.stop(signal)
    await until('the store knows', () => !store.health().ok, { withinMs: 180_000 })
    await server.start()
  }
  await done
  expect(durable()).toBe(2400)
  for (const runWriter of runWriters) expect(await readRecords(other, runWriter.id)).toEqual(runWriter.records)
  expect(store.health()).toEqual({ ok: true })
}, 180_000)

test('[LOG-1] [LOG-2] PostgreSQL: a failover to a synchronous replica under load loses, duplicates and changes nothing', async () => {
  const primary = await PostgresServer.create()
  onTestFinished(() => primary.remove())
  await primary.start()
  const replica = await PostgresServer.following(primary)
  onTestFinished(() => replica.remove())
  await replica.start()
  await primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
  await primary.query('SELECT pg_reload_conf()')
  await until('the replica is synchronous', async () => {
    return (await primary.query("SELECT FROM pg_stat_replication WHERE sync_state = 'sync'")).length === 1
  })
  let current = primary
  const proxy = await startTcpProxy(() => current.port)
  const store = await open({ schema: 'holdfast', url: through(proxy) })
  const { runWriters, durable, done } = await writeUnderLoad(store, 10, 100)
  await until('some is written', () => durable() > 200, { withinMs: 180_000 })
  await primary.stop('SIGQUIT')
  // Clients are led to the replica before it is one that can be written to.
  current = replica
  proxy.cut()
  await until('the store knows', () => !store.health().ok, { withinMs: 180_000 })
  await replica.query('SELECT pg_promote()')
  await done
  for (const runWriter of runWriters) expect(await readRecords(store, runWriter.id)).toEqual(runWriter.records)
}, 180_000)

test('PostgreSQL: a commit that waits for a lock delays no run of the other lane', async () => {
  const schema = newSchema()
  const store = await open({ schema })
  const [held, free] = [await startRun(store), await startRun(store)]
  const locker = new pg.Client(server.url)
  await locker.connect()
  onTestFinished(() => locker.end())
  await locker.query('BEGIN')
  await locker.query(`SELECT FROM ${schema}.heads WHERE id = $1 FOR UPDATE`, [held.id])
  held.text('waits')
  const flushed = held.flush()
  const waits = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`
  await until('its commit waits', async () => (await server.query(waits)).length === 1)
  free.text('goes on')
  await free.flush()
  expect(held.writer.pending).toBe(1)
  await locker.query('COMMIT')
  await flushed
  for (const runWriter of [held, free]) expect(await readRecords(store, runWriter.id)).toEqual(runWriter.records)
})

test('PostgreSQL: a slow connection makes commits larger, and nothing else', async () => {
  const schema = newSchema()
  const proxy = await startTcpProxy(server.port)
  const store = await open({ schema, url: through(proxy) })
  const runWriter = await startRun(store)
  proxy.delay(50)
  await flushEveryTick(runWriter, 500)
  proxy.delay(0)
  expect(await readRecords(store, runWriter.id)).toEqual(runWriter.records)
  const [{ rows }] = (await server.query<{ rows: number }>(`SELECT count(*)::int AS rows FROM ${schema}.log`)) as [
    { rows: number },
  ]
  expect(rows).toBeLessThan(100)
})

test('PostgreSQL: a request over a silent connection fails in bounded time, and another one succeeds', async () => {
  const schema = newSchema()
  const proxy = await startTcpProxy(server.port)
  // Longer than the test may take: it is not the bound of a statement that ends the wait.
  const store = await open({ schema, url: through(proxy), connections: 1, requestTimeoutMs: 600_000 })
  const runWriter = await startRun(store)
  proxy.strand()
  await expect(store.get(runWriter.id)).rejects.toMatchObject({ code: 'unavailable', retryable: true })
  expect(await store.get(runWriter.id)).toMatchObject({ next: 2 })
})

test('PostgreSQL: while the server is unreachable, callers get an error in bounded time, and nothing durable is lost', async () => {
  const schema = newSchema()
  const proxy = await startTcpProxy(server.port)
  const store = await open({ schema, url: through(proxy), outageTimeoutMs: 300 })
  const runWriter = await startRun(store)
  proxy.block()
  proxy.cut()
  runWriter.text('given up')
  await expect(runWriter.flush()).rejects.toMatchObject({ code: 'unavailable', retryable: true })
  expect(() => runWriter.text('and so is what follows')).toThrow('the store is unavailable')
  expect(store.health().ok).toBe(false)
  proxy.heal()
  proxy.cut()
  const { next } = (await store.get(runWriter.id))!
  expect(next).toBe(2)
  expect(store.health().ok).toBe(true)
})
