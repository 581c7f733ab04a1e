/** Retention by size trims the owner with the most bytes first, and no owner for the bytes of another. */
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { startNats } from '../../../test/support/nats.ts'
import { startPostgres } from '../../../test/support/postgres.ts'
import { temporaryFolder } from '../../../test/support/temporary.ts'
import { SESSIONS } from '../../core/model/document.ts'
import { defaultLimits } from '../../core/model/limits.ts'
import { silentLogger } from '../../core/ports/logger.ts'
import type { Store } from '../../core/ports/store.ts'
import { storedBytes } from '../../core/model/storage-usage.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { openNatsStore } from '../../stores/nats/index.ts'
import { openPostgresStore } from '../../stores/postgres/index.ts'
import { openSqliteStore } from '../../stores/sqlite/index.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { newRun, RunWriter } from '../../testing/fixtures.ts'
import { fairLevel } from './fair-level.ts'
import { Retention } from './retention.ts'

const clock = createFakeClock()
const MB = 1e6

const [postgres, nats] = await Promise.all([startPostgres(), startNats()])
let opened = 0

const stores: readonly (readonly [string, () => Store | Promise<Store>])[] = [
  ['memory', () => createMemoryStore({ clock })],
  ['SQLite', () => openSqliteStore({ path: join(temporaryFolder(), 'store.db'), clock })],
  ['PostgreSQL', () => openPostgresStore({ url: postgres.url, schema: `retention_${++opened}`, clock })],
  ['NATS', () => openNatsStore({ servers: [nats.address], name: `retention-${++opened}`, partitions: 2, clock })],
]

/** A finished run whose log has about `bytes` bytes. */
async function finish(store: Store, owner: string, id: string, bytes: number, session = id): Promise<void> {
  const created = newRun(id, clock.iso(), {
    owner,
    session,
    idempotency: { key: `key-${id}`, fingerprint: 'f' },
    claim: { worker: 'worker', ttlMs: 1e9 },
  })
  const { stored } = await store.create(created)
  const runWriter = new RunWriter(store, clock, stored, [created.record])
  runWriter.start()
  for (let written = 0; written < bytes; written += 10_000) runWriter.text('x'.repeat(10_000))
  runWriter.complete()
  await runWriter.flush()
  clock.advance(1000)
}

async function sweep(store: Store, maxRetainedBytes: number): Promise<void> {
  const limits = { ...defaultLimits, maxRetainedBytes }
  const retention = new Retention(store, limits, clock, silentLogger, { believesClock: true })
  await retention.sweep()
  await retention.close()
}

async function firsts(store: Store, ids: readonly string[]): Promise<(number | undefined)[]> {
  return Promise.all(ids.map(async (id) => (await store.get(id))?.first))
}

describe.each(stores)('%s: retention by size', (_name, open) => {
  test("one principal's 10 MB of documents do not trim another's finished runs", async () => {
    const store = await open()
    for (const id of ['run_a1', 'run_a2']) await finish(store, 'anna', id, 200_000)
    for (let count = 0; count < 50; count++) {
      await store.documents.put({ owner: 'bert', collection: SESSIONS, id: `s-${count}`, body: 'y'.repeat(200_000) })
      clock.advance(1000)
    }
    await sweep(store, 5 * MB)
    expect(await firsts(store, ['run_a1', 'run_a2'])).toEqual([0, 0])
    expect(await store.documents.get('bert', SESSIONS, 's-0')).toBeUndefined()
    expect(await store.documents.get('bert', SESSIONS, 's-49')).toBeDefined()
    expect(await store.usage.total()).toBeLessThanOrEqual(5 * MB)
    expect(storedBytes(await store.usage.of('bert'))).toBeGreaterThan(4 * MB)
    await store.close()
  })

  test('trims the largest principals to one level, oldest runs first, and leaves smaller ones alone', async () => {
    const store = await open()
    for (let count = 0; count < 6; count++) await finish(store, 'anna', `run_a${count}`, 100_000)
    for (let count = 0; count < 4; count++) await finish(store, 'bert', `run_b${count}`, 100_000)
    await finish(store, 'cleo', 'run_c', 100_000)
    await vi.waitFor(async () => expect(await store.usage.total()).toBeGreaterThan(1.1 * MB), 60_000)
    await sweep(store, 700_000)
    const kept = async (prefix: string, count: number): Promise<boolean[]> =>
      (
        await firsts(
          store,
          Array.from({ length: count }, (_, index) => `${prefix}${index}`),
        )
      ).map((first) => first === 0)
    expect(await kept('run_a', 6)).toEqual([false, false, false, false, true, true])
    expect(await kept('run_b', 4)).toEqual([false, false, true, true])
    expect(await firsts(store, ['run_c'])).toEqual([0])
    await store.close()
  })

  test('removes the oldest rows, with their keys and sessions, of a principal whose trimmed runs are still too many', async () => {
    const store = await open()
    for (let count = 0; count < 20; count++) await finish(store, 'anna', `run_a${count}`, 0, `s-${count >> 1}`)
    await sweep(store, 15_000)
    const runs = await firsts(store, ['run_a0', 'run_a1', 'run_a19'])
    expect(runs.map((first) => first === undefined)).toEqual([true, true, false])
    expect(await store.findByKey('anna', 'key-run_a0')).toBeUndefined()
    expect(await store.documents.get('anna', SESSIONS, 's-0')).toBeUndefined()
    expect(await store.documents.get('anna', SESSIONS, 's-9')).toBeDefined()
    await finish(store, 'anna', 'run_a0', 0)
    await store.close()
  })
})

test('retention by size: a principal over its share with unfinished runs alone affects no other, and is named', async () => {
  const store = createMemoryStore({ clock })
  await finish(store, 'anna', 'run_a', 100_000)
  const created = newRun('run_b', clock.iso(), { owner: 'bert', claim: { worker: 'worker', ttlMs: 1e9 } })
  const runWriter = new RunWriter(store, clock, (await store.create(created)).stored, [created.record])
  runWriter.start()
  for (let count = 0; count < 100; count++) runWriter.text('x'.repeat(10_000))
  await runWriter.flush()
  const warnings: object[] = []
  const logger = { ...silentLogger, warn: (fields: object) => void warnings.push(fields) }
  const retention = new Retention(store, { ...defaultLimits, maxRetainedBytes: 500_000 }, clock, logger)
  await retention.sweep()
  await retention.close()
  expect(await firsts(store, ['run_a', 'run_b'])).toEqual([0, 0])
  expect(warnings).toMatchObject([{ owner: 'bert' }])
})

test.each([
  [[10, 5, 1], 0, Infinity],
  [[10, 5, 1], 3, 7],
  [[10, 5, 1], 7, 4],
  [[10, 5, 1], 15, 0],
  [[10, 5, 1], 100, 0],
  [[], 5, 0],
])('retention by size: the level of owners with %j that give up %d is %d', (sizes, excess, level) => {
  expect(fairLevel(sizes, excess)).toBe(level)
})
