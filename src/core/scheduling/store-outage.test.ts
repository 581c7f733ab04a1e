/** An outage of a shared store fails no healthy run, and runs whose lease was lost are recovered. */
import { describe, expect, test } from 'vitest'
import { ManualClock, settle } from '../../../test/support/manual-clock.ts'
import { aborted, openNode, subject, textOf, typesOf } from '../../../test/support/node.ts'
import { until } from '../../../test/support/until.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { overriding } from '../../testing/broken-stores.ts'
import { newRun } from '../../testing/fixtures.ts'
import { HoldfastError } from '../model/errors.ts'
import { isFinished } from '../model/run.ts'
import type { Store } from '../ports/store.ts'

const LEASE_MS = 1500

/** A store as one node reaches it, with a record of the node's calls. */
class Line {
  readonly store: Store
  readonly claims: { readonly id: string; readonly at: number }[] = []
  isAway = false
  mayTakeOver = false
  renewedAt: number[] = []

  constructor(store: Store, clock: ManualClock) {
    const check = (): void => {
      if (this.isAway) throw new HoldfastError('unavailable', 'the store is away')
    }
    this.store = overriding(store, {
      renew: async (...parameters) => {
        check()
        this.renewedAt.push(clock.elapsed())
        return store.renew(...parameters)
      },
      claimable: async (limit, query) => {
        check()
        this.mayTakeOver = query?.takeover ?? true
        return store.claimable(limit, query)
      },
      claim: async (...parameters) => {
        check()
        const claimed = await store.claim(...parameters)
        if (claimed !== undefined) this.claims.push({ id: claimed.run.id, at: clock.elapsed() })
        return claimed
      },
    })
  }
}

interface World {
  readonly clock: ManualClock
  readonly store: Store
  readonly run: string
  /** The node that executes the run, and another. */
  readonly lines: readonly [Line, Line]
  readonly finish: () => void
  readonly log: () => Promise<string[]>
}

/** A run on one of two nodes that have been up for a while. Then the store is away for longer than a lease lasts. */
async function afterOutage(): Promise<World> {
  const clock = new ManualClock()
  const store = overriding(createMemoryStore({ clock }), { capabilities: { durable: true, shared: true } })
  const done = Promise.withResolvers<void>()
  const component = subject(async function* () {
    yield 'a'
    await done.promise
    yield 'b'
  })
  const lines = [new Line(store, clock), new Line(store, clock)] as const
  const limits = { leaseMs: LEASE_MS, pollIntervalMs: 20 }
  const [first] = lines.map((line) => openNode({ components: [component], store: line.store, clock, limits }))
  const run = await first!.start('subject')
  await first!.emitted(run, 'text.delta')
  await clock.pass(2 * LEASE_MS)
  expect(lines.map(({ mayTakeOver }) => mayTakeOver)).toEqual([true, true])
  for (const line of lines) line.isAway = true
  await clock.pass(LEASE_MS + 1)
  for (const line of lines) line.claims.length = line.renewedAt.length = 0
  return { clock, store, run, lines, finish: done.resolve, log: async () => typesOf(await first!.log(run)) }
}

/** Stops writing in its first attempt, so that no refused write can reveal the lost lease. */
const silentAtFirst = subject(
  async function* (_, { attempt, signal }) {
    yield `[${attempt}]`
    if (attempt === 1) await aborted(signal)
  },
  { recovery: 'retry' },
)

describe('after an outage in which all leases expired, a node that is back', () => {
  test('[RUN-1] claims queued runs at once, and leaves a healthy run to the node that executes it', async () => {
    const { clock, store, run, lines, finish, log } = await afterOutage()
    const [owner, other] = lines
    await store.create(newRun('run_queued', clock.iso(), { component: 'subject' }))
    other.isAway = false
    await clock.pass(LEASE_MS / 2)
    expect(other.claims.map(({ id }) => id)).toEqual(['run_queued'])
    owner.isAway = false
    await clock.pass(2 * LEASE_MS)
    expect(other.mayTakeOver).toBe(true)
    finish()
    await settle()
    expect(await log()).toEqual(['run.created', 'run.started', 'text.delta', 'text.delta', 'run.completed'])
    expect(other.claims.filter(({ id }) => id === run)).toEqual([])
  })

  test('[RUN-1] takes over the run of a dead node, a lease after its own first renewal', async () => {
    const { clock, run, lines, log } = await afterOutage()
    const [, other] = lines
    other.isAway = false
    await clock.pass(2 * LEASE_MS)
    expect(other.claims.map(({ id }) => id)).toEqual([run])
    expect(other.claims[0]!.at - other.renewedAt[0]!).toBeGreaterThanOrEqual(LEASE_MS)
    expect((await log()).at(-1)).toBe('run.failed')
  })
})

test('[RUN-1] a run whose write was refused while its agent was idle is given up and recovered', async () => {
  const kept = createMemoryStore()
  let refuse: ((cause: unknown) => void) | undefined
  const store = overriding(kept, {
    writer: (id, claim, onRefused) => {
      refuse ??= onRefused
      return kept.writer(id, claim, onRefused)
    },
  })
  const node = openNode({ components: [silentAtFirst], store })
  const id = await node.start('subject')
  await node.emitted(id, 'text.delta')
  refuse!(new HoldfastError('unavailable', 'the database could not be reached for 60 s'))
  expect(textOf(await node.ended(id))).toBe('[2]')
})

test('[RUN-1] an idle run whose log lost its end in a failover is given up and recovered', async () => {
  const kept = createMemoryStore()
  let isBehind = false
  // What a replica answers that was promoted before it had received the last event.
  const store = overriding(kept, {
    renew: async (...parameters) => {
      const leases = await kept.renew(...parameters)
      return isBehind ? leases.map((run) => ({ ...run, next: run.next - 1 })) : leases
    },
  })
  const node = openNode({ components: [silentAtFirst], store })
  const id = await node.start('subject')
  await node.emitted(id, 'text.delta')
  isBehind = true
  await node.emitted(id, 'attempt.discarded')
  isBehind = false
  expect(textOf(await node.ended(id))).toBe('[2]')
})

test('[RUN-1] a run does not fail because the store cannot be read right after its start was written', async () => {
  const kept = createMemoryStore()
  let outages = 3
  const store = overriding(kept, {
    read: async (id, ...parameters) => {
      const { next } = (await kept.get(id))!
      if (next > 1 && outages-- > 0) throw new HoldfastError('unavailable', 'the store is away')
      return kept.read(id, ...parameters)
    },
  })
  const once = subject(
    async function* () {
      yield 'done'
    },
    { recovery: 'fail' },
  )
  const node = openNode({ components: [once], store })
  const id = await node.start('subject')
  await until('the run has ended', async () => isFinished((await kept.get(id))!.run.status))
  expect((await kept.get(id))!.run.status).toBe('completed')
})

test('[RUN-1] a run that is answered after a restart does not fail because the store cannot be read right after its answers were written', async () => {
  const kept = createMemoryStore()
  const asking = subject(
    async function* (_, { ask }) {
      yield String(await ask('Go on?'))
    },
    { recovery: 'fail' },
  )
  const first = openNode({ components: [asking], store: kept })
  const id = await first.start('subject')
  await first.emitted(id, 'run.paused')
  const paused = (await kept.get(id))!.next
  let outages = 3
  const store = overriding(kept, {
    read: async (run, ...parameters) => {
      if ((await kept.get(run))!.next > paused && outages-- > 0)
        throw new HoldfastError('unavailable', 'the store is away')
      return kept.read(run, ...parameters)
    },
  })
  const second = openNode({ components: [asking], store })
  await second.answer(id, { question: 'yes' })
  await until('the run has ended', async () => isFinished((await kept.get(id))!.run.status))
  expect((await kept.get(id))!.run.status).toBe('completed')
})

test('[RUN-1] a run does not fail because the store cannot be read right after its answer was written', async () => {
  const kept = createMemoryStore()
  let outages = 3
  const store = overriding(kept, {
    read: async (id, ...parameters) => {
      const { run } = (await kept.get(id))!
      if (run.status === 'running' && outages-- > 0) throw new HoldfastError('unavailable', 'the store is away')
      return kept.read(id, ...parameters)
    },
  })
  const asking = subject(
    async function* (_, context) {
      yield `[${String(await context.ask('Go on?'))}]`
    },
    { recovery: 'fail' },
  )
  // Nothing is kept in memory: the agent begins again from its log.
  const node = openNode({ components: [asking], store, limits: { maxParkedRuns: 0 } })
  const id = await node.start('subject')
  await node.reached(id, 'paused')
  await node.answer(id, { question: 'yes' }).catch(() => {})
  await until('the run has ended', async () => isFinished((await kept.get(id))!.run.status))
  expect((await kept.get(id))!.run.status).toBe('completed')
})
