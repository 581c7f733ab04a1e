/** Runs that a live node gave up during a store outage are not crash suspects. */
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { aborted, openNode, subject, type TestNode, typesOf } from '../../../test/support/node.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { overriding } from '../../testing/broken-stores.ts'
import { HoldfastError } from '../model/errors.ts'
import type { Limits } from '../model/limits.ts'
import type { RecoveryPolicy, RunContext } from '../ports/component.ts'
import type { LogWriter, Store } from '../ports/store.ts'

const LEASE_MS = 1500
const RUNS = 6

const away = (): HoldfastError => new HoldfastError('unavailable', 'the store is away')

/** A shared store as one node reaches it. */
class Link {
  readonly store: Store
  /** Callbacks that tell each run's writer that it can no longer write. */
  readonly refusals = new Map<string, (cause: unknown) => void>()
  isAway = false
  /** Number of writes of `run.released` to refuse. */
  refusedReleases = 0
  /** Number of starts to write without an acknowledgement. */
  unacknowledgedStarts = 0

  constructor(store: Store) {
    const check = (): void => {
      if (this.isAway) throw away()
    }
    this.store = new Proxy(store, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target)
        if (key === 'writer') return this.#writer
        if (typeof value !== 'function' || key === 'watch' || key === 'health') return value
        const method = value.bind(target) as (...parameters: unknown[]) => unknown
        return async (...parameters: unknown[]) => {
          check()
          return method(...parameters)
        }
      },
    })
    this.#writer = (id, claim, onRefused = () => {}) => {
      this.refusals.set(id, onRefused)
      const writer = store.writer(id, claim, onRefused)
      let isUnacknowledged = false
      return new Proxy(writer, {
        get: (target, key) => {
          if (key === 'flush' && isUnacknowledged) return () => Promise.reject(away())
          if (key !== 'append') return bound(target, key)
          return (...parameters: Parameters<LogWriter['append']>) => {
            check()
            const isRelease = parameters[0].includes('"type":"run.released"')
            if (isRelease && this.refusedReleases-- > 0) throw new HoldfastError('fenced', 'expects another event')
            if (parameters[0].includes('"type":"run.started"')) isUnacknowledged = this.unacknowledgedStarts-- > 0
            target.append(...parameters)
          }
        },
      })
    }
  }

  readonly #writer: Store['writer']

  /** The store stays away beyond the bound: all writes since then are refused. */
  giveUp(): void {
    for (const refuse of this.refusals.values()) refuse(away())
    this.refusals.clear()
  }
}

function bound(target: object, key: string | symbol): unknown {
  const value: unknown = Reflect.get(target, key, target)
  return typeof value === 'function' ? (value.bind(target) as unknown) : value
}

interface Cluster {
  readonly clock: ManualClock
  readonly links: readonly Link[]
  readonly nodes: readonly TestNode[]
  /** Runs that the first node executes, each silent since its first text. */
  readonly ids: readonly string[]
  /** Runs whose second attempt executes. */
  readonly again: Set<string>
}

/** Two nodes that have been up for a while; the first one executes some runs. */
async function cluster(
  recovery: RecoveryPolicy,
  limits: Partial<Limits> = {},
  count = RUNS,
  unreadable: ReadonlySet<string> = new Set(),
): Promise<Cluster> {
  const clock = new ManualClock()
  const memory = createMemoryStore({ clock })
  const shared = overriding(memory, {
    capabilities: { durable: true, shared: true },
    get: async (id) => {
      if (unreadable.has(id)) throw away()
      return memory.get(id)
    },
  })
  const again = new Set<string>()
  const component = subject(
    async function* (_, { runId: run, attempt, signal }: RunContext) {
      yield `[${attempt}]`
      if (attempt > 1) again.add(run)
      await aborted(signal)
    },
    { recovery },
  )
  const links = [new Link(shared), new Link(shared)]
  const nodes = links.map(({ store }) =>
    openNode({ components: [component], store, clock, limits: { leaseMs: LEASE_MS, ...limits } }),
  )
  const ids = await Promise.all(Array.from({ length: count }, () => nodes[0]!.start('subject')))
  await Promise.all(ids.map((id) => nodes[0]!.emitted(id, 'text.delta')))
  await clock.pass(LEASE_MS + 1) // from now on they may take over
  return { clock, links, nodes, ids, again }
}

/** The store is away for longer than its nodes wait for it. */
async function outage({ clock, links }: Cluster): Promise<void> {
  for (const link of links) link.isAway = true
  await clock.pass(LEASE_MS)
  links[0]!.giveUp()
  await clock.pass(LEASE_MS / 3)
  for (const link of links) link.isAway = false
}

describe('[RUN-6] store outage: after an outage beyond the bound', () => {
  test.each([
    ['resume', 0],
    ['retry', 0],
    ['resume', 1],
  ] as const)('all runs that a live node gave up execute at once (%s, %i refused)', async (recovery, refused) => {
    const world = await cluster(recovery)
    world.links[0]!.refusedReleases = refused
    await outage(world)
    await world.clock.pass(LEASE_MS / 2)
    expect([...world.again].toSorted()).toEqual([...world.ids].toSorted())
    for (const id of world.ids) {
      const { run } = await world.nodes[1]!.get(id)
      expect(run).toMatchObject({ status: 'running', attempt: 2, interruptions: 1 })
      expect(run.suspect).toBeUndefined()
    }
  })

  test('all runs whose start was written and not acknowledged execute at once', async () => {
    const world = await cluster('resume', {}, 0)
    world.links[0]!.unacknowledgedStarts = RUNS
    const ids = await Promise.all(Array.from({ length: RUNS }, () => world.nodes[0]!.start('subject')))
    await world.clock.pass(LEASE_MS)
    expect([...world.again].toSorted()).toEqual(ids.toSorted())
    const log = await world.nodes[0]!.log(ids[0]!)
    expect(typesOf(log)).toEqual(['run.created', 'run.started', 'run.released', 'run.started', 'text.delta'])
    expect(log[2]!.data).toEqual({ reason: 'store_unavailable' })
    expect(log[3]!.data).toEqual({ attempt: 2 })
  })

  test('the log says why its node released the run, and a component that does not recover fails with that', async () => {
    const world = await cluster('fail')
    await outage(world)
    await world.clock.pass(LEASE_MS / 2)
    const log = await world.nodes[1]!.log(world.ids[0]!)
    expect(typesOf(log)).toEqual(['run.created', 'run.started', 'text.delta', 'run.released', 'run.failed'])
    expect(log.at(-2)!.data).toEqual({ reason: 'store_unavailable' })
    const message = 'the node that executed the run gave it up because its store was unavailable'
    expect(log.at(-1)!.data).toMatchObject({ error: { code: 'interrupted', message } })
  })

  test('runs of a node that died meanwhile are suspects', async () => {
    const world = await cluster('resume')
    await outage(world)
    world.links[0]!.isAway = true // for good
    await world.clock.pass(2 * LEASE_MS)
    expect(world.again.size).toBe(RUNS / 2)
  })

  test('a run that another worker claimed meanwhile is not released by the node that gave it up', async () => {
    const world = await cluster('resume')
    const [cutOff] = world.links
    cutOff!.isAway = true
    await world.clock.pass(2 * LEASE_MS)
    expect(world.again.size).toBe(RUNS / 2)
    cutOff!.giveUp()
    cutOff!.isAway = false
    await world.clock.pass(LEASE_MS)
    for (const id of world.ids) expect(typesOf(await world.nodes[1]!.log(id))).not.toContain('run.released')
  })

  test('runs whose log stays unreadable do not keep the others from being released', async () => {
    const unreadable = new Set<string>()
    const world = await cluster('resume', {}, 40, unreadable)
    for (const id of world.ids.slice(0, 35)) unreadable.add(id)
    await outage(world)
    await world.clock.pass(LEASE_MS)
    expect([...world.again].toSorted()).toEqual(world.ids.slice(35).toSorted())
  })

  test('a run is not given up more often than it may be interrupted', async () => {
    const world = await cluster('resume', { maxInterruptions: 2 })
    await outage(world)
    await world.clock.pass(LEASE_MS / 2)
    for (const link of world.links) {
      link.isAway = true
      await world.clock.pass(LEASE_MS / 3)
      link.giveUp()
      link.isAway = false
    }
    await world.clock.pass(LEASE_MS)
    for (const id of world.ids) {
      const { run } = await world.nodes[1]!.get(id)
      expect(run.error).toMatchObject({
        code: 'interrupted',
        message: 'the run was interrupted 2 times, which is the limit',
      })
    }
  })
})
