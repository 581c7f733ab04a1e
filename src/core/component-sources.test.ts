/** Runs of a component wait while its source is unavailable. */
import { expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { openNode } from '../../test/support/node.ts'
import { until } from '../../test/support/until.ts'
import { agent } from '../agents/agent.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { overriding } from '../testing/broken-stores.ts'
import { ComponentSources } from './component-sources.ts'
import type { Component } from './ports/component.ts'
import type { ComponentSource } from './ports/component-source.ts'
import { type Clock, systemClock } from './ports/clock.ts'
import { silentLogger } from './ports/logger.ts'
import { Registry } from './registry.ts'

const local = agent({
  id: 'local',
  async *run() {
    yield 'here'
  },
})

const remote = agent({
  id: 'remote',
  recovery: 'resume',
  async *run(_input, { ask }) {
    yield `answered ${String(await ask({ prompt: 'Go on?' }))}`
  },
})

function source(): ComponentSource & { reachable: boolean } {
  return {
    name: 'upstream',
    protocol: 'openai',
    url: 'http://127.0.0.1:9/v1',
    discoveryIntervalMs: 60_000,
    reachable: false,
    discover(): Promise<readonly Component[]> {
      return this.reachable ? Promise.resolve([remote]) : Promise.reject(new Error('connection refused'))
    },
  }
}

function discovering(
  upstream: ComponentSource,
  clock: Clock = systemClock,
): { readonly registry: Registry; readonly sources: ComponentSources } {
  const registry = new Registry([local])
  const sources = new ComponentSources({
    registry,
    sources: [upstream],
    fixed: [local],
    clock,
    logger: silentLogger,
  })
  onTestFinished(() => sources.close())
  return { registry, sources }
}

test('[RUN-1] the runs of a source that is down when a node starts wait for it, and others execute', async () => {
  const store = createMemoryStore()
  const before = openNode({ components: [local, remote], store, limits: { maxConcurrentRuns: 0 } })
  const queued = await before.start('remote', 'go')
  const upstream = source()
  const { registry, sources } = discovering(upstream)
  const node = openNode({ components: [], registry, store })
  await sources.start()
  const other = await node.start('local', 'go')
  expect((await node.ended(other)).at(-1)?.type).toBe('run.completed')
  expect((await node.get(queued)).run.status).toBe('queued')
  upstream.reachable = true
  await node.reached(queued, 'paused')
})

test('[RUN-5] an answer to a run whose source has not been reached is refused and loses nothing', async () => {
  const store = createMemoryStore()
  const before = openNode({ components: [remote], store })
  const id = await before.start('remote', 'go')
  await before.reached(id, 'paused')
  const { waiting } = (await before.get(id)).run
  const answers = { [waiting![0]!.id]: 'yes' }
  await before.service.drain()
  const upstream = source()
  const { registry, sources } = discovering(upstream)
  const node = openNode({ components: [], registry, store })
  await sources.start()
  await expect(node.answer(id, answers)).rejects.toMatchObject({ code: 'unavailable' })
  expect((await node.get(id)).run.status).toBe('paused')
  upstream.reachable = true
  await until('it is discovered', () => registry.find('remote') !== undefined)
  await node.answer(id, answers)
  expect((await node.ended(id)).at(-1)?.type).toBe('run.completed')
})

test('[RUN-1] a node announces the components that it discovers to the other nodes', async () => {
  const announced: (readonly string[])[] = []
  const store = createMemoryStore()
  const upstream = source()
  upstream.reachable = true
  const { registry, sources } = discovering(upstream)
  openNode({
    components: [],
    registry,
    store: overriding(store, {
      renew: (owner, leaseMs, components) => {
        announced.push(components ?? [])
        return store.renew(owner, leaseMs, components)
      },
    }),
  })
  await sources.start()
  await until('it is announced', () => announced.at(-1)?.length === 2)
  expect(announced.at(-1)).toEqual(['local', 'remote'])
})

test('component sources: an unknown component is discovered although the wall clock was set back an hour', async () => {
  const clock = new ManualClock()
  let asked = 0
  const upstream: ComponentSource = { ...source(), discover: () => Promise.resolve(asked++ === 0 ? [] : [remote]) }
  const { registry, sources } = discovering(upstream, clock)
  await sources.start()
  clock.step(-3_600_000)
  await clock.pass(5000)
  expect(asked).toBe(1)
  registry.onUnknown!()
  expect(asked).toBe(2)
})
