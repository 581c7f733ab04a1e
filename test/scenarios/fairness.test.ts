import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Store } from '../../src/core/ports/store.ts'
import type { RunShape } from '../../src/protocols/native/wire/shapes.ts'
import type { Server } from '../../src/server/create-server.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { call, postRun, startRun, type Target, untilFinished } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { createKeys } from '../support/keys.ts'
import { startPostgres } from '../support/postgres.ts'
import { temporaryDatabase, temporaryFolder } from '../support/temporary.ts'

const PLACES = 2
const postgres = await startPostgres()

interface Callers {
  readonly anna: Target
  readonly bert: Target
}

/** Nodes with two worker slots each, used by two principals. */
async function serve(stores: readonly Store[], maxQueuedRuns = 1000): Promise<Callers> {
  const keys = join(temporaryFolder(), 'keys.json')
  const [anna, bert] = await createKeys(keys, ['anna', 'bert'])
  const auth = { keys }
  // One principal may use every worker slot: this test is about queued runs.
  const limits = { maxConcurrentRuns: PLACES, maxRunsPerPrincipal: PLACES, maxQueuedRuns }
  const servers: Server[] = []
  for (const store of stores) servers.push(await serveInProcess({ store, auth, limits }))
  return {
    anna: { url: servers[0]!.url, token: anna! },
    bert: { url: servers.at(-1)!.url, token: bert! },
  }
}

async function openNodes(store: string): Promise<readonly Store[]> {
  if (store === 'sqlite') return [await openSqliteStore({ path: temporaryDatabase() })]
  const nodes = store === 'postgres, two nodes' ? 2 : 1
  const schema = `fair_${nodes}`
  const open = (): Promise<Store> => openPostgresStore({ url: postgres.url, connections: 4, schema })
  const stores = [await open()]
  while (stores.length < nodes) stores.push(await open())
  for (const each of stores) onTestFinished(() => each.close())
  return stores
}

async function listed(target: Target, query: string): Promise<RunShape[]> {
  return (await call<{ runs: RunShape[] }>(target, 'GET', `/runs?${query}`)).body.runs
}

describe.each(['sqlite', 'postgres, one node', 'postgres, two nodes'])('fair scheduling on %s', (name) => {
  test("one principal's two hundred runs do not delay another's three", async () => {
    const stores = await openNodes(name)
    const { anna, bert } = await serve(stores)
    const many = Array.from({ length: 200 }, () => startRun(anna, 'sleep 1000'))
    await Promise.all(many)
    const few = [await startRun(bert, 'sleep 1'), await startRun(bert, 'sleep 1'), await startRun(bert, 'sleep 1')]
    const since = few.at(-1)!.createdAt
    const ended = await Promise.all(few.map(({ id }) => untilFinished(bert, id, 60_000)))
    const last = ended
      .map(({ startedAt }) => startedAt!)
      .toSorted()
      .at(-1)!
    const waiting = await listed(anna, 'status=queued&limit=200')
    expect(waiting.length, 'the other still has a queue').toBeGreaterThan(50)
    const before = (await listed(anna, 'limit=200')).filter(
      ({ startedAt = '' }) => startedAt > since && startedAt < last,
    )
    expect(before.length).toBeLessThanOrEqual(4 * PLACES * stores.length)
  })
})

test('admission control: a principal that fills the queue gets 429, and another still has room', async () => {
  const { anna, bert } = await serve(await openNodes('sqlite'), 20)
  for (let count = 0; count < PLACES + 10; count++) await startRun(anna, 'hang')
  const refused = await postRun(anna, 'hang')
  expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await postRun(bert, 'text 1')).status).toBe(202)
})
