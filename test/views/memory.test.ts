/** The memory of views equals what their cache counts, for any log. */
import { describe, expect, test } from 'vitest'
import { ViewCache } from '../../src/core/delivery/view-cache.ts'
import type { Event } from '../../src/core/model/event.ts'
import { defaultLimits } from '../../src/core/model/limits.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { createFakeClock } from '../../src/testing/fake-clock.ts'
import { newRun, RunWriter } from '../../src/testing/fixtures.ts'
import { heldMegabytes } from '../support/memory.ts'
import { testedKinds } from './kinds.ts'

const MB = 1024 * 1024
/** What the collector leaves of other work. */
const NOISE_MB = 0.7

async function storeOf(runs: readonly string[], events: () => Iterable<Event>): Promise<Store> {
  const clock = createFakeClock()
  const store = createMemoryStore({ clock })
  for (const id of runs) {
    const fresh = newRun(id, clock.iso(), { claim: { worker: 'test', ttlMs: 1e9 } })
    const { stored } = await store.create(fresh)
    const writer = new RunWriter(store, clock, stored, [])
    writer.start()
    for (const event of events()) writer.append(event)
    await writer.flush()
  }
  return store
}

function* answer(
  deltas: number,
  text: string,
  type: 'text.delta' | 'reasoning.delta' = 'text.delta',
): Generator<Event> {
  for (let count = 0; count < deltas; count++) yield { type, data: { text } }
}

function* toolCalls(): Generator<Event> {
  for (let count = 0; count < 40; count++) {
    const call = `c${count}`
    yield { type: 'tool.called', data: { call, name: 'list', input: {} } }
    // Small as JSON, large when it is parsed.
    yield { type: 'tool.completed', data: { call, name: 'list', output: Array.from({ length: 4000 }, () => ({})) } }
  }
}

const logs: Readonly<Record<string, () => Iterable<Event>>> = {
  'an answer in 30,000 small deltas': () => answer(30_000, 'word '),
  'an answer in 2,000 large deltas beyond ASCII': () => answer(2000, '“Grüße” und mehr. '.repeat(80)),
  'a thought in 30,000 small deltas': () => answer(30_000, 'hm, ', 'reasoning.delta'),
  'results of tools that are larger in memory than as JSON': toolCalls,
}

describe.each(Object.entries(logs))('the memory of a view of %s', (_, events) => {
  let filled: Promise<Store> | undefined

  test.each(testedKinds.map((kind) => [kind.name, kind] as const))('is counted for %s', async (_name, kind) => {
    const store = await (filled ??= storeOf(['run_x'], events))
    const stored = (await store.get('run_x'))!
    const fold = async (): Promise<readonly unknown[]> => {
      const views = new ViewCache(store, defaultLimits)
      const view = views.open(stored, kind)
      await view.current(stored.next)
      return [view, views.bytes]
    }
    await fold() // compiles
    const before = await heldMegabytes()
    const [view, counted] = await fold()
    const held = (await heldMegabytes()) - before
    expect(view).toBeDefined()
    expect(held).toBeLessThan((counted as number) / MB + NOISE_MB)
  })
})

test('[SUB-1] AI SDK: views of many long answers take no more memory than the cache may', async () => {
  const runs = Array.from({ length: 4 }, (_, count) => `run_${count}`)
  const store = await storeOf(runs, () => answer(12_000, 'word '))
  const views = new ViewCache(store, { ...defaultLimits, maxViewCacheBytes: 2 * MB })
  const kind = testedKinds.find(({ name }) => name.startsWith('ai-sdk'))!
  const before = await heldMegabytes()
  const opened: unknown[] = []
  for (const run of runs) {
    const stored = (await store.get(run))!
    const view = views.open(stored, kind)
    await view.current(stored.next)
    opened.push(view)
  }
  expect((await heldMegabytes()) - before).toBeLessThan(2 + NOISE_MB)
  expect(views.bytes).toBeLessThanOrEqual(2 * MB)
  expect(opened).toHaveLength(runs.length)
})
