/** Fair order of owners when more runs are queued than there are worker slots. */
import { describe, expect, test } from 'vitest'
import { gated } from '../../../test/support/gated-component.ts'
import { openNode, type TestNode, withoutHints } from '../../../test/support/node.ts'
import { until } from '../../../test/support/until.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { overriding } from '../../testing/broken-stores.ts'
import { newRun } from '../../testing/fixtures.ts'
import type { Principal } from '../model/principal.ts'
import type { Store } from '../ports/store.ts'

const anna: Principal = { id: 'anna' }
const bert: Principal = { id: 'bert' }

/** A store as several processes see it. */
function sharedStore(): Store {
  return overriding(createMemoryStore(), { capabilities: { durable: true, shared: true } })
}

async function queue(node: TestNode, principal: Principal, count: number): Promise<void> {
  for (let index = 0; index < count; index++) await node.startAs(principal, 'subject', principal.id)
}

describe.each([
  { nodes: 1, slots: 1 },
  { nodes: 1, slots: 2 },
  { nodes: 2, slots: 2 },
])('round-robin with $nodes nodes of $slots slots:', ({ nodes, slots }) => {
  test("one principal's two hundred runs do not delay another's three", async () => {
    const store = sharedStore()
    const { component, started, open } = gated()
    const limits = { maxConcurrentRuns: slots, maxRunsPerPrincipal: slots }
    const opened = Array.from({ length: nodes }, () => openNode({ components: [component], store, limits }))
    await queue(opened[0]!, anna, 200)
    await until('all places are taken', () => started.length === slots * nodes)
    await queue(opened[0]!, bert, 3)
    expect(started).not.toContain('bert')
    open()
    await until('all were started', () => started.length === 203, { withinMs: 180_000 })
    // By turns: where two are at work at once, a moment may give one principal both places.
    expect(started.lastIndexOf('bert')).toBeLessThan(slots * nodes + 10)
  })
})

test('round-robin: an owner that keeps starting runs does not overtake one that waits', async () => {
  const kept = createMemoryStore()
  const look = Promise.withResolvers<void>()
  let isSlow = false
  const store = overriding(kept, {
    claimable: async (limit, query) => {
      if (isSlow) await look.promise
      return kept.claimable(limit, query)
    },
  })
  const { component, started, open } = gated()
  const node = openNode({ components: [component], store, limits: { maxConcurrentRuns: 1 } })
  const first = await node.startAs(anna, 'subject', 'first of anna')
  await until('the place is taken', () => started.length === 1)
  await node.startAs(bert, 'subject', 'bert, who waits')
  isSlow = true
  open()
  await node.reached(first.run.id, 'completed')
  await until('the place is free', () => node.service.load().running === 0)
  await node.startAs(anna, 'subject', 'second of anna')
  look.resolve()
  await until('all were started', () => started.length === 3)
  expect(started).toEqual(['first of anna', 'bert, who waits', 'second of anna'])
})

test('a node that loses the race for a run claims another at once', async () => {
  const kept = withoutHints(sharedStore())
  const at = new Date().toISOString()
  await kept.create(newRun('run_1', at, { component: 'subject', claim: { worker: 'another node', ttlMs: 60_000 } }))
  await kept.create(newRun('run_2', at, { component: 'subject' }))
  let looks = 0
  // The first listing is outdated.
  const store = overriding(kept, {
    claimable: async (limit, query) => (looks++ === 0 ? ['run_1'] : kept.claimable(limit, query)),
  })
  const { component, open } = gated()
  open()
  const node = openNode({ components: [component], store, limits: { maxConcurrentRuns: 1, leaseMs: 600_000 } })
  expect((await node.ended('run_2')).at(-1)?.type).toBe('run.completed')
})
