/** Leases of runs: taking over, losing a lease, and no lease without an execution. */
import { describe, expect, test } from 'vitest'
import { ManualClock, settle } from '../../../test/support/manual-clock.ts'
import { aborted, openNode, subject, textOf, typesOf, withoutHints } from '../../../test/support/node.ts'
import { until } from '../../../test/support/until.ts'
import { LEASE_MS, recovering, World } from '../../../test/support/world.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { overriding } from '../../testing/broken-stores.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { newRun } from '../../testing/fixtures.ts'
import { HoldfastError } from '../model/errors.ts'
import { type Logger, silentLogger } from '../ports/logger.ts'

describe('[LOG-4] leases: a worker that lost its lease without noticing', () => {
  test('can write no more, and its agent is aborted', async () => {
    const clock = createFakeClock()
    const store = createMemoryStore({ clock })
    const proceed = Promise.withResolvers<void>()
    const reasons: unknown[] = []
    const component = subject(
      async function* (_, { attempt, signal }) {
        signal.addEventListener('abort', () => reasons.push(signal.reason))
        yield 'a'
        if (attempt > 1) return yield 'b'
        await proceed.promise
        yield 'too late'
        yield 'much too late'
      },
      { recovery: 'resume' },
    )
    // It keeps executing, but the renewal of its leases is stuck.
    const stuck = overriding(store, { renew: () => new Promise(() => {}) })
    const limits = { leaseMs: LEASE_MS }
    const zombie = openNode({ components: [component], store: stuck, clock, limits })
    const id = await zombie.start('subject')
    await zombie.emitted(id, 'text.delta')
    clock.advance(LEASE_MS + 1)
    const log = await openNode({ components: [component], store, clock, limits }).ended(id)
    proceed.resolve()
    await until('the agent was aborted', () => reasons.length >= 2)
    expect(await zombie.log(id)).toEqual(log)
    expect(textOf(log)).toBe('ab')
  })

  test('learns of it at the next renewal, though its agent is idle', async () => {
    const clock = createFakeClock()
    const store = createMemoryStore({ clock })
    let stuck = true
    const dozing = overriding(store, {
      renew: async (...parameters) => {
        if (stuck) throw new Error('not now')
        return store.renew(...parameters)
      },
    })
    const received: number[] = []
    const component = subject(
      async function* (_, { attempt, signal }) {
        yield 'a'
        await aborted(signal).finally(() => received.push(attempt))
      },
      { recovery: 'resume' },
    )
    const limits = { leaseMs: LEASE_MS }
    const zombie = openNode({ components: [component], store: dozing, clock, limits })
    const id = await zombie.start('subject')
    await zombie.emitted(id, 'text.delta')
    clock.advance(LEASE_MS + 1)
    const second = openNode({ components: [component], store, clock, limits })
    await second.emitted(id, 'run.started', 2)
    stuck = false
    await until('the first agent was aborted', () => received.length > 0)
    expect(received).toEqual([1])
    expect((await second.get(id)).run.status).toBe('running')
    expect((await second.get(id)).lease).toBeDefined()
  })

  test('is distinguished from one that kept it, though a renewal was slow', async () => {
    const clock = new ManualClock()
    const store = createMemoryStore({ clock })
    const [answered, proceed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let renewals = 0
    // The store's response was true when it was read, and is outdated when it arrives.
    const slow = overriding(store, {
      renew: async (...parameters) => {
        const held = await store.renew(...parameters)
        renewals++
        await answered.promise
        return held
      },
    })
    const component = subject(async function* (_, { signal }) {
      yield 'a'
      await Promise.race([proceed.promise, aborted(signal)])
      yield 'b'
    })
    const node = openNode({ store: slow, components: [component], clock })
    await settle()
    expect(renewals).toBe(1)
    const id = await node.start('subject')
    await node.emitted(id, 'text.delta')
    answered.resolve()
    await settle()
    proceed.resolve()
    expect((await node.ended(id)).at(-1)!.type).toBe('run.completed')
  })

  test('does not take the run over from itself', async () => {
    const clock = createFakeClock()
    const store = createMemoryStore({ clock })
    const proceed = Promise.withResolvers<void>()
    const component = subject(async function* (_, { attempt }) {
      yield `[${attempt}]`
      await proceed.promise
    })
    const node = openNode({ components: [component], store, clock, limits: { leaseMs: 3000 } })
    const id = await node.start('subject')
    await node.emitted(id, 'text.delta')
    // The process was busy for longer than a lease, and gets a hint before it renews.
    clock.advance(3001)
    const other = newRun('run_other', clock.iso(), { component: 'subject' })
    await store.create(other)
    await node.emitted('run_other', 'text.delta')
    proceed.resolve()
    const log = await node.ended(id)
    expect(typesOf(log)).toEqual(['run.created', 'run.started', 'text.delta', 'run.completed'])
  })
})

const asks = recovering('fail', async function* (_, context) {
  yield 'a'
  yield `[${String(await context.ask('Go on?'))}]`
  yield 'b'
})

describe('[RUN-1] leases: a paused run', () => {
  test('is resumed by another worker without repeating output', async () => {
    const world = new World(asks)
    const id = await world.orphan('paused')
    const second = world.worker()
    await second.answer(id, { question: 'yes' })
    const log = await second.ended(id)
    expect(typesOf(log)).toEqual([
      'run.created',
      'run.started',
      'text.delta',
      'run.paused',
      'run.resumed',
      'text.delta',
      'text.delta',
      'run.completed',
    ])
    expect(textOf(log)).toBe('a[yes]b')
  })

  test('is resumed by another worker while the first one lives, which releases its agent', async () => {
    const ends: string[] = []
    const world = new World(
      subject(async function* (_, context) {
        try {
          yield String(await context.ask('Go on?'))
        } finally {
          ends.push(context.signal.aborted ? 'aborted' : 'done')
        }
      }),
    )
    const first = world.worker()
    const second = world.worker()
    const id = await first.start('subject')
    await first.reached(id, 'paused')
    await second.answer(id, { question: 'yes' })
    expect(textOf(await second.ended(id))).toBe('yes')
    await first.service.drain()
    await until('both agents came to their end', () => ends.length === 2)
    expect(ends).toEqual(['done', 'aborted'])
  })

  test('stays paused when its worker dies', async () => {
    const world = new World(asks)
    const id = await world.orphan('paused')
    const second = world.worker()
    await world.looked(3)
    expect((await second.get(id)).run.status).toBe('paused')
    expect(await second.log(id)).toHaveLength(4)
  })

  test('fails at its deadline when its worker dies and nobody answers', async () => {
    const world = new World(
      recovering('fail', async function* (_, context) {
        yield String(await context.ask({ prompt: 'Quick?', timeoutMs: 1000 }))
      }),
    )
    const id = await world.orphan('paused')
    const second = world.worker()
    await world.looked(3)
    expect((await second.get(id)).run.status).toBe('paused')
    world.clock.advance(1000)
    expect((await second.ended(id)).at(-1)).toMatchObject({ data: { error: { code: 'deadline_exceeded' } } })
  })

  test('retracts the output of its last attempt when the rebuilt agent’s output differs', async () => {
    let round = 0
    const world = new World(
      subject(async function* (_, context) {
        round += 1
        yield `[${round}]`
        yield String(await context.ask('Go on?'))
      }),
    )
    const id = await world.orphan('paused')
    const second = world.worker()
    await second.answer(id, { question: 'yes' })
    const log = await second.ended(id)
    expect(textOf(log)).toBe('[2]yes')
    const discarded = log.find(({ type }) => type === 'attempt.discarded')
    expect(discarded!.data).toEqual({ attempt: 1, from: 2, scope: 'own', ledger: 'kept', reason: 'diverged' })
  })

  test('is rebuilt from its log if its agent was evicted', async () => {
    const begun: unknown[] = []
    const ended: unknown[] = []
    const component = subject(async function* (input, context) {
      begun.push(input)
      try {
        yield 'a'
        yield `[${String(await context.ask('Go on?'))}]`
      } finally {
        ended.push(input)
      }
    })
    const node = openNode({ components: [component], limits: { maxParkedRuns: 1 } })
    const ids: string[] = []
    for (const input of [1, 2]) {
      const id = await node.start('subject', input)
      await node.reached(id, 'paused')
      ids.push(id)
    }
    await until('the first agent was let go, and cleaned up', () => ended.length === 1)
    for (const id of ids) {
      await node.answer(id, { question: 'yes' })
      const log = await node.ended(id)
      expect(textOf(log)).toBe('a[yes]')
      expect(typesOf(log)).not.toContain('attempt.discarded')
    }
    expect(begun).toEqual([1, 2, 1])
    expect(ended).toEqual([1, 1, 2])
  })

  test('[RUN-2] is cancelled by a stop whose hint was lost', async () => {
    const store = createMemoryStore()
    const node = openNode({ components: [asks], store: withoutHints(store) })
    const id = await node.start('subject')
    await node.reached(id, 'paused')
    await node.stop(id, 'enough')
    expect(typesOf(await node.ended(id)).slice(-2)).toEqual(['stop.requested', 'run.cancelled'])
  })

  test('[RUN-2] is cancelled by a stop after all nodes died', async () => {
    const world = new World(asks)
    const id = await world.orphan('paused')
    await world.store.requestStop(id, { at: world.clock.iso(), by: 'local' })
    expect(typesOf(await world.worker().ended(id)).slice(-2)).toEqual(['stop.requested', 'run.cancelled'])
  })
})

describe('[RUN-1] leases: no lease is held without an execution', () => {
  test('a run that could be neither executed nor released is executed later, and the stack is logged', async () => {
    const warnings: { readonly err?: unknown }[] = []
    const logger: Logger = { ...silentLogger, warn: (fields) => void warnings.push(fields) }
    const store = createMemoryStore()
    const failures = { read: 1, release: 1 }
    const failing = (name: keyof typeof failures): void => {
      if (failures[name]-- > 0) throw new HoldfastError('unavailable', 'not now')
    }
    const flaky = overriding(store, {
      read: async (...parameters) => (failing('read'), store.read(...parameters)),
      release: async (...parameters) => (failing('release'), store.release(...parameters)),
    })
    const node = openNode({ components: [subject(async function* () {})], store: flaky, logger })
    const id = await node.start('subject')
    expect((await node.ended(id)).at(-1)!.type).toBe('run.completed')
    expect(warnings).toContainEqual({
      run: id,
      err: expect.objectContaining({ stack: expect.any(String) as string }) as Error,
    })
    expect(failures.read).toBeLessThan(0)
    expect(failures.release).toBeLessThan(0)
  })

  test('leases in use are kept although the store was unavailable for a moment', async () => {
    const clock = new ManualClock()
    const store = createMemoryStore({ clock })
    const proceed = Promise.withResolvers<void>()
    let failures = 0
    const flaky = overriding(store, {
      get: async (id) => {
        const stored = await store.get(id)
        // Once, when the run has started and its agent is at work.
        if (stored?.run.status === 'running' && failures++ === 0) throw new HoldfastError('unavailable', 'not now')
        return stored
      },
    })
    const component = subject(async function* () {
      yield 'a'
      await proceed.promise
      yield 'b'
    })
    const node = openNode({ components: [component], store: flaky, clock, limits: { leaseMs: LEASE_MS } })
    const id = await node.start('subject')
    // Time for several renewals: a claim without an execution is released after two.
    await clock.pass(2 * LEASE_MS)
    expect(failures).toBeGreaterThan(0)
    expect((await store.get(id))!.lease).toBeDefined()
    proceed.resolve()
    expect(textOf(await node.ended(id))).toBe('ab')
  })

  test('a run whose creation response was lost is executed', async () => {
    const store = createMemoryStore()
    let lose = true
    const flaky = overriding(store, {
      create: async (run) => {
        const created = await store.create(run)
        if (lose) throw new HoldfastError('unavailable', 'the answer was lost')
        return created
      },
    })
    const limits = { leaseMs: 150 } // the lost run has one
    const node = openNode({ components: [subject(async function* () {})], store: flaky, limits })
    await expect(node.start('subject')).rejects.toMatchObject({ code: 'unavailable' })
    lose = false
    const { runs } = await store.list({ limit: 1 })
    expect((await node.ended(runs[0]!.run.id)).at(-1)!.type).toBe('run.completed')
  })
})

describe('[RUN-1] leases: a worker that shuts down', () => {
  const untilReleased = recovering('resume', async function* (_, { attempt, signal }) {
    yield 'a'
    if (attempt === 1) await aborted(signal)
    yield 'b'
  })

  test('hands its runs over, and nobody waits for its leases to expire', async () => {
    const world = new World(untilReleased)
    const first = world.worker()
    const id = await first.start('subject')
    await first.emitted(id, 'text.delta')
    const second = world.worker()
    await first.service.drain()
    expect(textOf(await second.ended(id))).toBe('ab')
  })

  test('repeated handovers do not use up the attempts of a run', async () => {
    const component = recovering(
      'resume',
      async function* (_, { attempt, signal }) {
        yield 'a'
        if (attempt < 5) await aborted(signal)
        yield 'b'
      },
      { limits: { maxAttempts: 2 } },
    )
    const world = new World(component)
    let worker = world.worker()
    const id = await worker.start('subject')
    for (let deploy = 1; deploy < 5; deploy++) {
      await worker.emitted(id, 'run.started', deploy)
      await worker.service.drain()
      worker = world.worker()
    }
    const log = await worker.ended(id)
    expect(textOf(log)).toBe('ab')
    expect(typesOf(log).filter((type) => type === 'run.released')).toHaveLength(4)
  })

  test('resolves after the runs are handed over', async () => {
    const store = createMemoryStore()
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow = overriding(store, {
      release: async (...parameters) => {
        asked.resolve()
        await answer.promise
        return store.release(...parameters)
      },
    })
    const node = openNode({ components: [untilReleased], store: slow, limits: { leaseMs: 60_000 } })
    const id = await node.start('subject')
    await node.emitted(id, 'text.delta')
    let isDrained = false
    const drained = node.service.drain().then(() => (isDrained = true))
    await asked.promise
    await settle()
    expect(isDrained).toBe(false)
    answer.resolve()
    await drained
    expect((await store.get(id))!.lease).toBeUndefined()
  })

  test('keeps its leases while its runs finish', async () => {
    const clock = new ManualClock()
    const store = createMemoryStore({ clock })
    const proceed = Promise.withResolvers<void>()
    const component = subject(async function* (_, { signal }) {
      yield 'a'
      await Promise.race([proceed.promise, aborted(signal)])
      yield 'b'
    })
    const limits = { leaseMs: LEASE_MS, drainTimeoutMs: 60_000 }
    const first = openNode({ components: [component], store, clock, limits })
    const id = await first.start('subject')
    await first.emitted(id, 'text.delta')
    openNode({ components: [component], store, clock, limits })
    const drained = first.service.drain()
    await clock.pass(3 * LEASE_MS)
    proceed.resolve()
    await clock.pass(LEASE_MS)
    await drained
    expect(typesOf(await first.log(id)).slice(1)).toEqual(['run.started', 'text.delta', 'text.delta', 'run.completed'])
  })

  test('claims no more runs', async () => {
    const node = openNode({ components: [untilReleased] })
    await node.service.drain()
    expect(node.service.health()).toMatchObject({ ok: false, draining: true })
    await expect(node.start('subject')).rejects.toMatchObject({ code: 'unavailable', retryAfterMs: 1000 })
  })
})
