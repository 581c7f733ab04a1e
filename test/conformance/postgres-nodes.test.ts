/** Several nodes on one database: hints between them, concurrent setup, and access through a pooler. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { systemClock } from '../../src/core/ports/clock.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { type OpenPostgresOptions, openPostgresStore } from '../../src/stores/postgres/index.ts'
import { SCHEMA_VERSION } from '../../src/stores/postgres/schema.ts'
import { readRecords } from '../../src/testing/conformance/reading.ts'
import { createFakeClock } from '../../src/testing/fake-clock.ts'
import { newRun, RunWriter } from '../../src/testing/fixtures.ts'
import { INSTALL_MS } from '../support/apt.ts'
import { startPgBouncer } from '../support/pgbouncer.ts'
import { startPostgres } from '../support/postgres.ts'
import { startServer } from '../support/process.ts'
import { until } from '../support/until.ts'
import { hintsOf, testNodes } from './shared-nodes.ts'

const server = await startPostgres()
let schemas = 0
const newSchema = (): string => `nodes_${++schemas}`

async function open(schema: string, options: Partial<OpenPostgresOptions> = {}): Promise<Store> {
  const store = await openPostgresStore({ url: server.url, connections: 3, schema, ...options })
  onTestFinished(() => store.close())
  return store
}

/** Its LISTEN has arrived: from then on it misses nothing. */
async function listening(schema: string, nodes: number): Promise<void> {
  await until('every node listens', async () => {
    const rows = await server.query(`SELECT FROM pg_stat_activity WHERE query = 'LISTEN holdfast_${schema}'`)
    return rows.length === nodes
  })
}

describe('PostgreSQL: nodes that share a database', () => {
  testNodes({ newPlace: newSchema, open, settled: listening })
})

describe('PostgreSQL: the schema', () => {
  test('is created once by nodes that start concurrently', async () => {
    const schema = newSchema()
    const stores = await Promise.all(Array.from({ length: 8 }, () => open(schema)))
    for (const [number, store] of stores.entries())
      expect((await store.create(newRun(`run_${number}`, new Date().toISOString()))).kind).toBe('created')
    expect((await stores[0]!.list({ limit: 100 })).runs).toHaveLength(8)
  })

  test('a schema of a newer version is rejected, and one of another name is ignored', async () => {
    const schema = newSchema()
    await (await open(schema)).close()
    await server.query(`UPDATE ${schema}.version SET version = ${SCHEMA_VERSION + 1}`)
    await expect(open(schema)).rejects.toThrow(/made by a newer Holdfast \(version \d+; this one knows up to \d+\)/)
    await open(newSchema())
  })

  test('must have a name that needs no quotes', async () => {
    for (const name of ['', 'Upper', '1st', 'a-b', 'a"b', 'x'.repeat(41)])
      await expect(open(name)).rejects.toThrow(/is not a valid schema name/)
  })
})

test('[LOG-2] PostgreSQL: a database with asynchronous commit is made to wait for Holdfast’s commits', async () => {
  const schema = newSchema()
  await server.query('ALTER ROLE holdfast SET synchronous_commit = off')
  onTestFinished(() => server.query('ALTER ROLE holdfast RESET synchronous_commit').then(() => undefined))
  const store = await open(schema)
  // Looks when the transaction commits, and lets none through that would not wait.
  await server.query(`
    CREATE FUNCTION ${schema}.look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF current_setting('synchronous_commit') = 'off' THEN RAISE EXCEPTION 'acknowledged early'; END IF;
      RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER look_at_log AFTER INSERT ON ${schema}.log DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION ${schema}.look();
    CREATE CONSTRAINT TRIGGER look_at_documents AFTER INSERT OR UPDATE OR DELETE ON ${schema}.documents
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ${schema}.look();
    CREATE CONSTRAINT TRIGGER look_at_runs AFTER UPDATE ON ${schema}.runs DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION ${schema}.look();`)
  const draft = newRun('run_1', new Date().toISOString())
  await store.create(draft)
  const claim = (await store.claim('run_1', 'worker-1', 60_000))!
  const runWriter = new RunWriter(store, systemClock, claim, [draft.record])
  runWriter.start()
  await runWriter.flush()
  expect(await store.requestStop('run_1', { at: new Date().toISOString() })).toMatchObject({ stop: {} })
  const note = { owner: 'anna', collection: 'notes', id: 'one', body: 1 }
  for (const expected of [0, 1, undefined]) expect(await store.documents.put(note, expected)).toBeDefined()
  expect(await store.documents.remove('anna', 'notes', 'one')).toBe(true)
  await expect(server.query(`UPDATE ${schema}.runs SET stop = NULL`)).rejects.toThrow('acknowledged early')
})

test('PostgreSQL: a name that cannot be stored is rejected, and affects no other request', async () => {
  const store = await open(newSchema())
  const draft = newRun('run_1', new Date().toISOString(), { session: 'zero \0 byte' })
  await expect(store.create(draft)).rejects.toMatchObject({ code: 'invalid_request' })
  expect(store.health()).toEqual({ ok: true })
})

test('[RUN-1] PostgreSQL: a run whose node is not in the table of owners can be claimed once its lease has expired', async () => {
  const [schema, clock] = [newSchema(), createFakeClock()]
  const store = await open(schema, { clock })
  const draft = newRun('run_1', clock.iso(), { claim: { worker: 'worker-1', ttlMs: 10_000 } })
  const runWriter = new RunWriter(store, clock, (await store.create(draft)).stored, [draft.record])
  runWriter.start()
  await runWriter.flush()
  // A node that started at that moment removed the row as that of an idle node; then worker-1 died.
  await server.query(`DELETE FROM ${schema}.owners`)
  clock.advance(9999)
  expect(await store.claimable(10)).toEqual([])
  clock.advance(1)
  expect(await store.claimable(10)).toEqual(['run_1'])
  expect(await store.claim('run_1', 'worker-2', 10_000)).toMatchObject({ epoch: 2 })
})

describe('PostgreSQL: the error of a store that cannot be opened names store, option, host and reason', () => {
  test.each([
    [
      'postgres://anna:hunter2@127.0.0.1:1/app',
      /the PostgreSQL store at 127\.0\.0\.1:1\/app \(--store\) .*ECONNREFUSED/,
    ],
    [
      'postgres://anna:hunter2@no-such-host.invalid/app',
      /at no-such-host\.invalid:5432\/app .*is the host name right\?/,
    ],
    [server.url.replace('/postgres', '/nowhere'), /at 127\.0\.0\.1:\d+\/nowhere .*does not exist; create it/],
  ])('%s', async (url, message) => {
    const refusal: unknown = await openPostgresStore({ url }).catch((cause: unknown) => cause)
    expect(refusal).toMatchObject({ code: 'unavailable', message: expect.stringMatching(message) as string })
    expect(String(refusal)).not.toContain('hunter2')
  })
})

test('PostgreSQL: holdfast serve stores its runs there', async () => {
  const store = `${server.url}?schema=${newSchema()}&connections=2`
  const served = await startServer({ store: 'not this one', args: ['--store', store] })
  const run = await createClient({ url: served.url }).runs.start({ component: 'lab', input: 'text 3' })
  await run.result()
  const another = await startServer({ store: 'nor this one', args: ['--store', store] })
  expect(await createClient({ url: another.url }).runs.get(run.id)).toMatchObject({ status: 'completed' })
})

describe('PostgreSQL behind a transaction pooler', () => {
  test(
    'creates, claims, writes, reads and stops runs, and gets hints over the direct address',
    async () => {
      const schema = newSchema()
      const pooled = await startPgBouncer(server)
      const [here, there] = [
        await open(schema, { url: pooled, directUrl: server.url }),
        await open(schema, { url: pooled, directUrl: server.url }),
      ]
      await listening(schema, 2)
      const hints = hintsOf(there)
      const drafts = Array.from({ length: 20 }, (_, number) =>
        newRun(`run_${number}`, new Date().toISOString(), { claim: { worker: 'worker-1', ttlMs: 60_000 } }),
      )
      const runWriters = await Promise.all(
        drafts.map(
          async (draft) => new RunWriter(here, systemClock, (await here.create(draft)).stored, [draft.record]),
        ),
      )
      for (const runWriter of runWriters) runWriter.start()
      for (let round = 0; round < 20; round++) {
        for (const runWriter of runWriters) runWriter.text(`${round} `)
        await Promise.all(runWriters.map((runWriter) => runWriter.flush()))
      }
      for (const runWriter of runWriters) expect(await readRecords(there, runWriter.id)).toEqual(runWriter.records)
      await until('the other node is told', () => hints.some(({ next }) => next === runWriters[0]!.records.length))
      expect(await there.renew('worker-1', 60_000)).toHaveLength(20)
      await there.documents.put({ owner: 'anna', collection: 'notes', id: 'one', body: 1 }, 0)
      expect(await here.documents.get('anna', 'notes', 'one')).toMatchObject({ body: 1, version: 1 })
    },
    INSTALL_MS,
  )
})
