/** Retention by age also removes rows, keys, sessions and documents; periods can differ by component, tenant and principal. */
import { expect, test } from 'vitest'
import { SESSIONS } from '../../core/model/document.ts'
import { defaultLimits, type Limits } from '../../core/model/limits.ts'
import { silentLogger } from '../../core/ports/logger.ts'
import type { Store } from '../../core/ports/store.ts'
import { PUSH_CONFIGS } from '../../protocols/a2a/collections.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import { newRun, type NewRunOptions, RunWriter } from '../../testing/fixtures.ts'
import { RetentionPeriods } from './periods.ts'
import { Retention, type RetentionOptions } from './retention.ts'

const DAY = 24 * 3_600_000

async function finish(store: Store, clock: FakeClock, id: string, options: NewRunOptions = {}): Promise<void> {
  const idempotency = { key: `key-${id}`, fingerprint: 'f' }
  const created = newRun(id, clock.iso(), { idempotency, ...options, claim: { worker: 'worker', ttlMs: 1e9 } })
  const runWriter = new RunWriter(store, clock, (await store.create(created)).stored, [created.record])
  runWriter.start()
  runWriter.complete()
  await runWriter.flush()
}

async function sweep(store: Store, clock: FakeClock, limits: Partial<Limits>, options: RetentionOptions = {}) {
  const settings = { ...options, believesClock: true }
  const retention = new Retention(store, { ...defaultLimits, ...limits }, clock, silentLogger, settings)
  const report = await retention.sweep()
  await retention.close()
  return report
}

test('retention by age: runs older than --retain-runs are removed with their keys, webhooks and empty sessions', async () => {
  const clock = createFakeClock()
  const store = createMemoryStore({ clock })
  await finish(store, clock, 'run_old', { session: 's-old' })
  await finish(store, clock, 'run_shared', { session: 's-shared' })
  await store.documents.put({ owner: 'owner-1', collection: PUSH_CONFIGS, id: 'run_old/1', label: 'run_old', body: {} })
  await store.documents.put({ owner: 'owner-1', collection: SESSIONS, id: 's-empty', body: {} })
  clock.advance(3 * DAY)
  await finish(store, clock, 'run_new', { session: 's-shared' })
  await store.documents.put({ owner: 'owner-1', collection: SESSIONS, id: 's-recent', body: {} })
  const report = await sweep(store, clock, { retainRunsMs: 2 * DAY })
  expect(report).toMatchObject({ removed: 2, documents: 3 })
  expect(await store.get('run_old')).toBeUndefined()
  expect(await store.findByKey('owner-1', 'key-run_old')).toBeUndefined()
  expect(await store.get('run_new')).toBeDefined()
  const { documents } = await store.documents.list({ collection: SESSIONS, limit: 10, ascending: true })
  expect(documents.map(({ id }) => id)).toEqual(['s-shared', 's-recent'])
  expect(await store.usage.of('owner-1')).toMatchObject({ runs: 1, documents: 2 })
})

test('retention by age: each component, tenant and principal has its own period, and a longer one delays no other', async () => {
  const clock = createFakeClock()
  const store = createMemoryStore({ clock })
  await finish(store, clock, 'run_default')
  await finish(store, clock, 'run_writer', { component: 'writer' })
  await finish(store, clock, 'run_acme', { owner: 'acme/bert' })
  await finish(store, clock, 'run_acme_writer', { owner: 'acme/bert', component: 'writer' })
  await finish(store, clock, 'run_anna', { owner: 'acme/anna' })
  const events = { components: { writer: 7 * DAY }, tenants: { acme: 0 }, principals: { 'acme/anna': DAY } }
  const trimmedAfter = async (days: number): Promise<string[]> => {
    clock.advance(days * DAY)
    await sweep(store, clock, { retainMs: 30 * DAY }, { events })
    const { runs } = await store.list({ limit: 10 })
    return runs
      .filter(({ first }) => first > 0)
      .map(({ run }) => run.id)
      .toSorted()
  }
  expect(await trimmedAfter(2)).toEqual(['run_anna'])
  expect(await trimmedAfter(6)).toEqual(['run_acme_writer', 'run_anna', 'run_writer'])
  expect(await trimmedAfter(30)).toEqual(['run_acme_writer', 'run_anna', 'run_default', 'run_writer'])
})

test('retention by age: the shortest of several periods counts, and 0 means forever', () => {
  const periods = new RetentionPeriods(30, { components: { w: 7, x: 0 }, tenants: { t: 90 }, principals: { 't/p': 0 } })
  expect(periods.of('q', 'other')).toBe(30)
  expect(periods.of('q', 'w')).toBe(7)
  expect(periods.of('q', 'x')).toBe(Infinity)
  expect(periods.of('t/q', 'w')).toBe(7)
  expect(periods.of('t/q', 'x')).toBe(90)
  expect(periods.of('t/p', 'other')).toBe(90)
  expect(periods.distinct).toEqual([30, 7, 90])
})
