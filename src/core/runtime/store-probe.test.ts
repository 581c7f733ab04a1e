/** Readiness probes the store, with a timeout. */
import { describe, expect, test } from 'vitest'
import { ManualClock, settle } from '../../../test/support/manual-clock.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { overriding } from '../../testing/broken-stores.ts'
import { storeUnavailable } from '../model/errors.ts'
import { defaultLimits } from '../model/limits.ts'
import { StoreProbe } from './store-probe.ts'

const clock = new ManualClock()
const limits = { ...defaultLimits, storeProbeTimeoutMs: 20 }

describe('store probe', () => {
  test('a node is ready while its store responds', async () => {
    expect(await new StoreProbe({ store: createMemoryStore(), limits, clock }).health()).toEqual({ ok: true })
  })

  test('a node is not ready while its store is silent, and it sends few probes', async () => {
    const kept = createMemoryStore()
    const answer = Promise.withResolvers<void>()
    let [requested, answered] = [0, 0]
    const store = overriding(kept, {
      get: async (id) => {
        requested++
        await answer.promise
        answered++
        return kept.get(id)
      },
    })
    const probe = new StoreProbe({ store, limits, clock })
    expect(store.health()).toEqual({ ok: true })
    for (let round = 0; round < 5; round++) {
      const both = Promise.all([probe.health(), probe.health()])
      await clock.pass(20)
      const silent = { ok: false, reason: 'the store has not responded within 20 ms' }
      expect(await both).toEqual([silent, silent])
    }
    expect(requested).toBe(3)
    answer.resolve()
    await settle()
    expect(answered).toBe(3)
    expect(await probe.health()).toEqual({ ok: true })
  })

  test('a node is not ready when its store is unavailable, and reports the reason', async () => {
    const store = overriding(createMemoryStore(), {
      get: () => Promise.reject(storeUnavailable('the database failed')),
    })
    const expected = { ok: false, reason: 'the database failed' }
    expect(await new StoreProbe({ store, limits, clock }).health()).toEqual(expected)
  })
})
