/** Finished runs are trimmed when they are too old or too many; unfinished ones never are. */
import { describe, expect, test } from 'vitest'
import { defaultLimits } from '../../core/model/limits.ts'
import { silentLogger } from '../../core/ports/logger.ts'
import type { Store } from '../../core/ports/store.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import { newRun, RunWriter } from '../../testing/fixtures.ts'
import type { Logger } from '../../core/ports/logger.ts'
import { Retention } from './retention.ts'

const clock = createFakeClock()

/** A run with about a kilobyte of output, finished or not. */
async function run(store: Store, id: string, ended: boolean): Promise<void> {
  const created = newRun(id, clock.iso(), { claim: { worker: 'worker', ttlMs: 1e9 } })
  const { stored } = await store.create(created)
  const runWriter = new RunWriter(store, clock, stored, [created.record])
  runWriter.start()
  for (let piece = 0; piece < 4; piece++) runWriter.text('x'.repeat(250))
  if (ended) runWriter.complete()
  await runWriter.flush()
  clock.advance(1000)
}

async function keptFrom(store: Store, ids: readonly string[]): Promise<number[]> {
  return Promise.all(ids.map(async (id) => (await store.get(id))!.first))
}

async function sweep(store: Store, limits: { retainMs?: number; maxRetainedBytes?: number }): Promise<void> {
  const retention = new Retention(store, { ...defaultLimits, ...limits }, clock, silentLogger, { believesClock: true })
  await retention.sweep()
  await retention.close()
}

test('retention: a run that finished longer ago than --retain is trimmed to its outcome', async () => {
  const store = createMemoryStore({ clock })
  for (const id of ['run_a', 'run_b', 'run_c']) await run(store, id, true)
  await sweep(store, { retainMs: 2500 })
  expect(await keptFrom(store, ['run_a', 'run_b', 'run_c'])).toEqual([6, 0, 0])
  expect(await store.read('run_a', 5, 1000)).toMatchObject({ first: 6, count: 1, closed: true })
})

test('retention: runs beyond the size limit are trimmed, oldest first', async () => {
  const store = createMemoryStore({ clock })
  for (const id of ['run_a', 'run_b', 'run_c']) await run(store, id, true)
  const size = await store.usage.total()
  await sweep(store, { maxRetainedBytes: size - 2500 })
  expect(await keptFrom(store, ['run_a', 'run_b', 'run_c'])).toEqual([6, 6, 0])
  expect(await store.usage.total()).toBeLessThanOrEqual(size - 2500)
})

test('retention: an unfinished run is kept, however old it is', async () => {
  const store = createMemoryStore({ clock })
  await run(store, 'run_a', false)
  clock.advance(1e9)
  await sweep(store, { retainMs: 1, maxRetainedBytes: 1 })
  expect(await keptFrom(store, ['run_a'])).toEqual([0])
})

test('retention: a run that was too young or unfinished is trimmed by a later sweep, which reads no others again', async () => {
  const store = createMemoryStore({ clock })
  await run(store, 'run_a', false)
  for (const id of ['run_b', 'run_c']) await run(store, id, true)
  const looked: string[] = []
  const runs = store.transfer.runs.bind(store.transfer)
  store.transfer.runs = async (limit, after) => {
    const page = await runs(limit, after)
    looked.push(...page.map(({ stored }) => stored.run.id))
    return page
  }
  const retention = new Retention(store, { ...defaultLimits, retainMs: 1500 }, clock, silentLogger, {
    believesClock: true,
  })
  expect((await retention.sweep()).trimmed).toBe(1)
  const { epoch, next, run: unfinished } = (await store.get('run_a'))!
  const runWriter = new RunWriter(store, clock, { run: unfinished, first: 0, next, epoch }, [])
  runWriter.complete()
  await runWriter.flush()
  clock.advance(2000)
  looked.length = 0
  expect((await retention.sweep()).trimmed).toBe(2)
  expect(await keptFrom(store, ['run_a', 'run_b', 'run_c'])).toEqual([6, 6, 6])
  expect(looked).toEqual(['run_c'])
  await retention.close()
})

test('retention: without a limit nothing is trimmed', async () => {
  const store = createMemoryStore({ clock })
  await run(store, 'run_a', true)
  await sweep(store, {})
  expect(await keptFrom(store, ['run_a'])).toEqual([0])
})

describe('retention: a clock that may be wrong', () => {
  const HOUR = 3_600_000
  const DAY = 24 * HOUR
  const limits = { ...defaultLimits, retainMs: 30 * DAY }

  /** A store with a current run, and a clock that was observed for a day. */
  async function watched() {
    const time = createFakeClock()
    const lines: { message: string; fields: Record<string, unknown> }[] = []
    const note = (fields: object, message: string): void => void lines.push({ message, fields: { ...fields } })
    const logger: Logger = { ...silentLogger, info: note, warn: note }
    const store = createMemoryStore({ clock: time })
    const open = () => new Retention(store, limits, time, logger)
    const first = open()
    await watch(first, time, DAY)
    await first.close()
    const created = newRun('run_young', time.iso(), { claim: { worker: 'worker', ttlMs: 1e9 } })
    const { stored } = await store.create(created)
    const runWriter = new RunWriter(store, time, stored, [created.record])
    runWriter.start()
    runWriter.text('x')
    runWriter.complete()
    await runWriter.flush()
    lines.length = 0
    return { time, store, lines, open }
  }

  /** Sweeps like a server for `forMs`. */
  async function watch(retention: Retention, time: FakeClock, forMs: number): Promise<void> {
    for (let passed = 0; passed <= forMs; passed += HOUR / 2) {
      await retention.sweep()
      time.advance(HOUR / 2)
    }
  }

  test.each(['while the server runs', 'before it starts'] as const)(
    'a clock that is ahead %s trims nothing until it has been right for a day',
    async (when) => {
      const { time, store, lines, open } = await watched()
      const running = when === 'before it starts' ? undefined : open()
      await running?.sweep()
      time.step(31 * DAY)
      const retention = running ?? open()
      await retention.sweep()
      expect((await store.get('run_young'))!.first).toBe(0)
      expect(lines.at(-1)!.message).toContain('retention by age is paused until the clock has been observed')
      time.step(-31 * DAY)
      await watch(retention, time, DAY)
      expect((await store.get('run_young'))!.first).toBe(0)
      await watch(retention, time, 31 * DAY)
      await retention.close()
      expect((await store.get('run_young'))!.first).toBe(3)
      expect(lines.at(-1)).toMatchObject({
        message: 'trimmed finished runs',
        fields: { runs: 1, events: 3, ids: ['run_young'] },
      })
    },
  )

  test('a restart within the hour does not delay trimming', async () => {
    const { time, store, open } = await watched()
    const first = open()
    await watch(first, time, 31 * DAY - HOUR)
    await first.close()
    const second = open()
    await watch(second, time, 2 * HOUR)
    await second.close()
    expect((await store.get('run_young'))!.first).toBe(3)
  })
})
