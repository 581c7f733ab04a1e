/** Finished runs are trimmed when they are too old or too many; unfinished ones never are. */
import { expect, test } from 'vitest'
import { defaultLimits } from '../core/limits.ts'
import { silentLogger } from '../core/logger.ts'
import type { Store } from '../core/store.ts'
import { openMemoryStore } from '../stores/memory.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { newRun, Scribe } from '../testing/fixtures.ts'
import { Retention } from './retention.ts'

const clock = createFakeClock()

/** A run that has said something of a kilobyte, and has ended or not. */
async function run(store: Store, id: string, ended: boolean): Promise<void> {
  const created = newRun(id, clock.iso(), { claim: { owner: 'worker', ttlMs: 1e9 } })
  const { stored } = await store.create(created)
  const scribe = new Scribe(store, clock, stored, [created.record])
  scribe.start()
  for (let piece = 0; piece < 4; piece++) scribe.text('x'.repeat(250))
  if (ended) scribe.complete()
  await scribe.flush()
  clock.advance(1000)
}

async function keptFrom(store: Store, ids: readonly string[]): Promise<number[]> {
  return Promise.all(ids.map(async (id) => (await store.get(id))!.first))
}

async function sweep(store: Store, limits: { retainMs?: number; retainBytesMax?: number }): Promise<void> {
  const retention = new Retention(store, { ...defaultLimits, ...limits }, clock, silentLogger)
  await retention.sweep()
  await retention.stop()
}

test('what finished longer ago than it is kept is trimmed to how it ended', async () => {
  const store = openMemoryStore({ clock })
  for (const id of ['run_a', 'run_b', 'run_c']) await run(store, id, true)
  await sweep(store, { retainMs: 2500 })
  expect(await keptFrom(store, ['run_a', 'run_b', 'run_c'])).toEqual([6, 0, 0])
  expect(await store.read('run_a', 5, 1000)).toMatchObject({ first: 6, count: 1, closed: true })
})

test('what is more than there is room for is trimmed, oldest first', async () => {
  const store = openMemoryStore({ clock })
  for (const id of ['run_a', 'run_b', 'run_c']) await run(store, id, true)
  const size = await store.size()
  await sweep(store, { retainBytesMax: size - 2500 })
  expect(await keptFrom(store, ['run_a', 'run_b', 'run_c'])).toEqual([6, 6, 0])
  expect(await store.size()).toBeLessThanOrEqual(size - 2500)
})

test('an unfinished run is kept, however old it is', async () => {
  const store = openMemoryStore({ clock })
  await run(store, 'run_a', false)
  clock.advance(1e9)
  await sweep(store, { retainMs: 1, retainBytesMax: 1 })
  expect(await keptFrom(store, ['run_a'])).toEqual([0])
})

test('a run that was too young, or was not over, is trimmed by a later sweep, which looks at no others again', async () => {
  const store = openMemoryStore({ clock })
  await run(store, 'run_a', false)
  for (const id of ['run_b', 'run_c']) await run(store, id, true)
  const looked: string[] = []
  const runs = store.moving.runs.bind(store.moving)
  store.moving.runs = async (limit, after) => {
    const page = await runs(limit, after)
    looked.push(...page.map(({ stored }) => stored.run.id))
    return page
  }
  const retention = new Retention(store, { ...defaultLimits, retainMs: 1500 }, clock, silentLogger)
  expect(await retention.sweep()).toBe(1)
  const { epoch, next, run: unfinished } = (await store.get('run_a'))!
  const scribe = new Scribe(store, clock, { run: unfinished, first: 0, next, epoch }, [])
  scribe.complete()
  await scribe.flush()
  clock.advance(2000)
  looked.length = 0
  expect(await retention.sweep()).toBe(2)
  expect(await keptFrom(store, ['run_a', 'run_b', 'run_c'])).toEqual([6, 6, 6])
  expect(looked).toEqual(['run_c'])
  await retention.stop()
})

test('where there is no bound, nothing is trimmed', async () => {
  const store = openMemoryStore({ clock })
  await run(store, 'run_a', true)
  await sweep(store, {})
  expect(await keptFrom(store, ['run_a'])).toEqual([0])
})
