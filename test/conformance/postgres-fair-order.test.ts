/** PostgreSQL finds the fair order of owners without scanning the whole queue. */
import { expect, onTestFinished, test } from 'vitest'
import pg from 'pg'
import type { Store } from '../../src/core/ports/store.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { claimable } from '../../src/stores/postgres/fair-order.ts'
import { newRun } from '../../src/testing/fixtures.ts'
import { startPostgres } from '../support/postgres.ts'

const server = await startPostgres()
const SCHEMA = 'long_queue'

async function open(): Promise<Store> {
  const store = await openPostgresStore({ url: server.url, connections: 2, schema: SCHEMA })
  onTestFinished(() => store.close())
  return store
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** Each place of the plan that reads runs, with how many rows it read. */
function readsOf(node: PlanNode): { readonly how: string; readonly rows: number }[] {
  const below = (node.Plans ?? []).flatMap(readsOf)
  if (node['Relation Name'] !== 'runs') return below
  const rows = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
  return [{ how: node['Node Type'], rows }, ...below]
}

/** Makes as many queued and finished runs of one owner, without their logs. */
function fill(runs: number): string {
  return `INSERT INTO ${SCHEMA}.runs (id, owner, component, session, status, finished, created, run)
    SELECT 'filler_' || n, 'anna', 'storyteller', 's', CASE WHEN n % 2 = 0 THEN 'queued' ELSE 'completed' END, n % 2 = 1, '', '{}'
    FROM generate_series(1, ${runs * 2}) n`
}

test('PostgreSQL: a queue of ten thousand runs of one owner is not read for its first few', async () => {
  const store = await open()
  const at = new Date().toISOString()
  for (let count = 0; count < 3; count++) {
    const claim = { worker: 'a node', ttlMs: 60_000 }
    await store.create(newRun(`run_held_${count}`, at, { owner: 'anna', claim }))
  }
  await server.query(fill(10_000))
  for (const id of ['run_1', 'run_2']) await store.create(newRun(id, at, { owner: 'bert' }))
  expect(await store.claimable(4)).toEqual(['filler_2', 'run_1', 'filler_4', 'run_2'])

  const client = new pg.Client(server.url)
  await client.connect()
  onTestFinished(() => client.end())
  for (const statistics of ['none yet', 'up to date']) {
    if (statistics === 'up to date') await client.query('ANALYZE')
    const explain = `EXPLAIN (ANALYZE, FORMAT JSON) ${claimable(SCHEMA)}`
    const { rows } = await client.query<{ 'QUERY PLAN': readonly { Plan: PlanNode }[] }>(explain, [null, null, 4, true])
    const reads = readsOf(rows[0]!['QUERY PLAN'][0]!.Plan)
    expect(reads.length).toBeGreaterThan(0)
    const many = reads.filter(({ how, rows: read }) => how === 'Seq Scan' || read > 50)
    expect(many, `with statistics ${statistics}`).toEqual([])
  }
})
