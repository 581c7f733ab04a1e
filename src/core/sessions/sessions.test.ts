/** Starting a run in a busy session, and on a busy node. */
import { describe, expect, test } from 'vitest'
import { aborted, openNode, subject, type TestNode, typesOf } from '../../../test/support/node.ts'
import { until } from '../../../test/support/until.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { overriding } from '../../testing/broken-stores.ts'
import type { BusyPolicy, Component } from '../ports/component.ts'
import type { Clock } from '../ports/clock.ts'
import { isHoldfastError } from '../model/errors.ts'

/** An agent whose runs wait until released by their input, with a record of their order. */
class Stage {
  /** Inputs of the runs, in the order in which they began. */
  readonly begun: unknown[] = []
  readonly component: Component
  mostAtOnce = 0
  #running = 0
  readonly #gates = new Map<unknown, PromiseWithResolvers<void>>()

  constructor(onBusySession: BusyPolicy) {
    this.component = subject((input, { signal }) => this.#run(input, signal), { onBusySession })
  }

  async *#run(input: unknown, signal: AbortSignal): AsyncGenerator<string> {
    this.begun.push(input)
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#running)
    try {
      yield String(input)
      await Promise.race([this.#gate(input).promise, aborted(signal)])
    } finally {
      this.#running -= 1
    }
  }

  letOn(...inputs: readonly unknown[]): void {
    for (const input of inputs) this.#gate(input).resolve()
  }

  #gate(input: unknown): PromiseWithResolvers<void> {
    const gate = this.#gates.get(input) ?? Promise.withResolvers<void>()
    this.#gates.set(input, gate)
    return gate
  }
}

/** Expects exactly these runs to have started, in this order. */
async function expectToBegin(stage: Stage, ...inputs: readonly unknown[]): Promise<void> {
  await until(`${inputs.length} runs began`, () => stage.begun.length >= inputs.length, { everyMs: 2 })
  expect(stage.begun).toEqual(inputs)
}

/** Two nodes on one store. Their claims do not run out, however busy the machine is. */
function openPair(...components: readonly Component[]): readonly [TestNode, TestNode] {
  const store = createMemoryStore()
  const limits = { leaseMs: 60_000 }
  return [openNode({ store, components, limits }), openNode({ store, components, limits })]
}

const session = 'one'

describe('a session with onBusySession: reject', () => {
  test('has one unfinished run at a time, on whichever node', async () => {
    const stage = new Stage('reject')
    const [left, right] = openPair(stage.component)
    const id = await left.start('subject', 1, { session })
    for (const node of [left, right]) {
      await expect(node.start('subject', 2, { session })).rejects.toMatchObject({
        code: 'session_busy',
        message: `session one is busy with run ${id}: wait for its end or stop it`,
        details: { run: id },
      })
    }
    stage.letOn(1, 2)
    await left.ended(id)
    await right.ended(await right.start('subject', 2, { session }))
    expect(stage.begun).toEqual([1, 2])
  })

  test('admits one of many concurrent starts', async () => {
    const stage = new Stage('reject')
    const nodes = openPair(stage.component)
    const starts = await Promise.allSettled(
      Array.from({ length: 20 }, (_, number) => nodes[number % 2]!.start('subject', number, { session })),
    )
    expect(starts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const reasons = starts.flatMap((start) => (start.status === 'rejected' ? [start.reason as unknown] : []))
    expect(reasons.every((reason) => isHoldfastError(reason, 'session_busy'))).toBe(true)
  })

  test('is busy while its run is paused', async () => {
    const asks = subject(
      async function* (_, context) {
        yield String(await context.ask('Go on?'))
      },
      { onBusySession: 'reject' },
    )
    const node = openNode({ components: [asks] })
    const id = await node.start('subject', null, { session })
    await node.reached(id, 'paused')
    await expect(node.start('subject', null, { session })).rejects.toMatchObject({ code: 'session_busy' })
  })

  test('does not affect sessions of others', async () => {
    const stage = new Stage('reject')
    const node = openNode({ components: [stage.component] })
    await node.startAs({ id: 'ann' }, 'subject', 1, { session })
    await node.startAs({ id: 'bob' }, 'subject', 2, { session })
    await node.startAs({ id: 'ann', tenant: 'acme' }, 'subject', 3, { session })
    await node.startAs({ id: 'ann' }, 'subject', 4, { session: 'another' })
    await expectToBegin(stage, 1, 2, 3, 4)
  })

  test('[SEC-1] is distinct from that of another principal, whatever characters the names contain', async () => {
    const stage = new Stage('reject')
    const node = openNode({ components: [stage.component] })
    await node.startAs({ id: 'ann' }, 'subject', 1, { session: 'lee one' })
    await node.startAs({ id: 'ann lee' }, 'subject', 2, { session: 'one' })
    await expectToBegin(stage, 1, 2)
  })
})

describe('a session with onBusySession: enqueue', () => {
  test('executes its runs one after the other, in order, whichever node accepted them', async () => {
    const stage = new Stage('enqueue')
    const nodes = openPair(stage.component)
    const ids: string[] = []
    for (let number = 0; number < 8; number++) {
      ids.push(await nodes[number % 2]!.start('subject', number, { session }))
    }
    for (let number = 0; number < 8; number++) {
      await expectToBegin(stage, ...Array.from({ length: number + 1 }, (_, index) => index))
      stage.letOn(number)
      await nodes[0].ended(ids[number]!)
    }
    expect(stage.begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    expect(stage.mostAtOnce).toBe(1)
  })

  test('continues after a run that failed, was rejected or was stopped', async () => {
    const begun: unknown[] = []
    const component = subject(
      async function* (input, context) {
        begun.push(input)
        if (input === 'throw') throw new Error('boom')
        if (input === 'reject') context.reject('no')
        if (input === 'hang') yield await aborted(context.signal)
      },
      { onBusySession: 'enqueue' },
    )
    const node = openNode({ components: [component] })
    const ids: string[] = []
    for (const input of ['throw', 'reject', 'hang', 'last']) ids.push(await node.start('subject', input, { session }))
    await until('the third run began', () => begun.length === 3)
    await node.stop(ids[2]!)
    expect((await node.ended(ids[3]!)).at(-1)!.type).toBe('run.completed')
    expect(begun).toEqual(['throw', 'reject', 'hang', 'last'])
  })

  test('ends a run that is stopped before its turn at once', async () => {
    const stage = new Stage('enqueue')
    const [left, right] = openPair(stage.component)
    const ids: string[] = []
    for (const input of [1, 2, 3]) ids.push(await left.start('subject', input, { session }))
    await right.stop(ids[1]!)
    expect(typesOf(await left.ended(ids[1]!))).toEqual(['run.created', 'stop.requested', 'run.cancelled'])
    expect((await left.get(ids[0]!)).run.status).toBe('running')
    expect((await left.get(ids[2]!)).run.status).toBe('queued')
    stage.letOn(1, 3)
    await left.ended(ids[2]!)
    expect(stage.begun).toEqual([1, 3])
  })

  test('runs of a busy session delay no other session', async () => {
    const stage = new Stage('enqueue')
    const node = openNode({ components: [stage.component] })
    for (const input of [1, 2, 3]) await node.start('subject', input, { session })
    stage.letOn('free')
    await node.ended(await node.start('subject', 'free', { session: 'another' }))
    expect(stage.begun).toEqual([1, 'free'])
  })

  test('is limited: a further run is rejected with a retry delay', async () => {
    const stage = new Stage('enqueue')
    const node = openNode({ components: [stage.component], limits: { maxQueuedRuns: 6 } }) // half for one owner
    for (const input of [1, 2, 3, 4]) await node.start('subject', input, { session })
    const refused = node.start('subject', 5, { session })
    await expect(refused).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: expect.any(Number) as number })
  })
})

describe('a session with onBusySession: interrupt', () => {
  test('stops the earlier run on whichever node it is, then continues', async () => {
    const stage = new Stage('interrupt')
    const [left, right] = openPair(stage.component)
    const first = await left.start('subject', 1, { session })
    await left.emitted(first, 'text.delta')
    const second = await right.start('subject', 2, { session })
    const log = await left.ended(first)
    expect(typesOf(log).slice(-2)).toEqual(['stop.requested', 'run.cancelled'])
    expect(log.at(-1)!.data).toEqual({ reason: `interrupted by run ${second}`, by: 'local' })
    stage.letOn(2)
    expect((await right.ended(second)).at(-1)!.type).toBe('run.completed')
    expect(stage.mostAtOnce).toBe(1)
  })

  test('stops the earlier run, also if the other node’s clock is ahead', async () => {
    const stage = new Stage('interrupt')
    const store = createMemoryStore()
    const limits = { leaseMs: 60_000 }
    const ahead: Clock = { now: () => Date.now() + 5000 }
    const left = openNode({ store, components: [stage.component], limits, clock: ahead })
    const right = openNode({ store, components: [stage.component], limits })
    const first = await left.start('subject', 1, { session })
    await left.emitted(first, 'text.delta')
    const second = await right.start('subject', 2, { session })
    expect((await left.ended(first)).at(-1)!.type).toBe('run.cancelled')
    stage.letOn(2)
    expect((await right.ended(second)).at(-1)!.type).toBe('run.completed')
  })

  test('stops a paused run', async () => {
    const component = subject(
      async function* (input, context) {
        yield input === 'ask' ? String(await context.ask('Go on?')) : 'done'
      },
      { onBusySession: 'interrupt' },
    )
    const node = openNode({ components: [component] })
    const first = await node.start('subject', 'ask', { session })
    await node.reached(first, 'paused')
    const second = await node.start('subject', null, { session })
    expect((await node.ended(first)).at(-1)!.type).toBe('run.cancelled')
    expect((await node.ended(second)).at(-1)!.type).toBe('run.completed')
  })

  test('stops all queued runs too', async () => {
    const stage = new Stage('enqueue')
    const node = openNode({ components: [stage.component] })
    const ids: string[] = []
    for (const input of [1, 2, 3]) ids.push(await node.start('subject', input, { session }))
    stage.letOn('last')
    const last = await node.start('subject', 'last', { session, onBusySession: 'interrupt' })
    await node.ended(last)
    for (const id of ids) expect((await node.ended(id)).at(-1)!.type).toBe('run.cancelled')
    expect(stage.begun).toEqual([1, 'last'])
  })

  test('keeps one of several concurrent starts', async () => {
    for (let round = 0; round < 5; round++) {
      const proceed = Promise.withResolvers<string>()
      const component = subject(
        async function* (_, { signal }) {
          yield await Promise.race([proceed.promise, aborted(signal)])
        },
        { onBusySession: 'interrupt' },
      )
      const nodes = openPair(component)
      const ids = await Promise.all([0, 1, 2].map((number) => nodes[number % 2]!.start('subject', number, { session })))
      proceed.resolve('done')
      const logs = await Promise.all(ids.map((id) => nodes[0].ended(id)))
      expect(logs.map((log) => log.at(-1)!.type)).toContain('run.completed')
    }
  })
})

describe('a session with onBusySession: parallel', () => {
  test('executes all its runs in parallel, by default', async () => {
    const stage = new Stage('parallel')
    const { onBusySession: _session, ...silent } = stage.component
    const node = openNode({ components: [silent] })
    for (const input of [1, 2, 3]) await node.start('subject', input, { session })
    await expectToBegin(stage, 1, 2, 3)
    expect(stage.mostAtOnce).toBe(3)
  })

  test('can be requested by a start', async () => {
    const stage = new Stage('reject')
    const node = openNode({ components: [stage.component] })
    await node.start('subject', 1, { session })
    await node.start('subject', 2, { session, onBusySession: 'parallel' })
    await expectToBegin(stage, 1, 2)
  })

  test('runs of a busy session delay no other session', async () => {
    const stage = new Stage('reject')
    const node = openNode({ components: [stage.component] })
    await node.start('subject', 1, { session, onBusySession: 'parallel' })
    await node.start('subject', 2, { session })
    await expectToBegin(stage, 1, 2)
  })
})

describe('[RUN-1] sessions: a busy node', () => {
  test('executes at most its capacity, however many starts are concurrent', async () => {
    const stage = new Stage('parallel')
    const node = openNode({ components: [stage.component], limits: { maxConcurrentRuns: 2 } })
    const inputs = Array.from({ length: 12 }, (_, number) => number)
    const ids = await Promise.all(inputs.map((input) => node.start('subject', input)))
    stage.letOn(...inputs)
    for (const id of ids) await node.ended(id)
    expect(stage.mostAtOnce).toBeLessThanOrEqual(2)
    expect(stage.begun.length).toBe(12)
  })

  test('executes its full capacity, though it still checks whether the first run was stopped', async () => {
    const stage = new Stage('parallel')
    const store = createMemoryStore()
    const answer = Promise.withResolvers<void>()
    const slow = overriding(store, {
      get: async (id) => {
        const stored = await store.get(id)
        if (stored?.run.status === 'running') await answer.promise
        return stored
      },
    })
    const limits = { leaseMs: 60_000, maxConcurrentRuns: 2 }
    const node = openNode({ store: slow, components: [stage.component], limits })
    await node.start('subject', 1)
    await expectToBegin(stage, 1)
    await node.start('subject', 2)
    await expectToBegin(stage, 1, 2)
    answer.resolve()
  })

  test('executes no more than its capacity when slots become free during starts', async () => {
    const stage = new Stage('parallel')
    const store = createMemoryStore()
    // Between the look for runs that wait and the claim of one, there is time for others to come.
    let claims = 0
    let proceed = Promise.resolve()
    const slow = overriding(store, {
      claim: async (...parameters) => {
        claims++
        await proceed
        return store.claim(...parameters)
      },
    })
    const node = openNode({ store: slow, components: [stage.component], limits: { maxConcurrentRuns: 2 } })
    const ids: string[] = []
    for (const input of [1, 2, 3, 4]) ids.push(await node.start('subject', input))
    await expectToBegin(stage, 1, 2)
    const gate = Promise.withResolvers<void>()
    proceed = gate.promise
    claims = 0
    stage.letOn(1, 2)
    for (const id of ids.slice(0, 2)) await node.ended(id)
    await until('the next run is being claimed', () => claims > 0)
    for (const input of [5, 6]) ids.push(await node.start('subject', input))
    gate.resolve()
    await until('the next runs began', () => stage.begun.length >= 4)
    stage.letOn(3, 4, 5, 6)
    for (const id of ids) await node.ended(id)
    expect(stage.mostAtOnce).toBe(2)
  })

  test('rejects starts while its queue is full, and accepts more afterwards', async () => {
    const stage = new Stage('parallel')
    const node = openNode({ components: [stage.component], limits: { maxConcurrentRuns: 1, maxQueuedRuns: 4 } })
    const ids: string[] = []
    for (const input of [1, 2, 3]) ids.push(await node.start('subject', input))
    await expect(node.start('subject', 4)).rejects.toMatchObject({
      code: 'rate_limited',
      retryable: true,
      retryAfterMs: expect.any(Number) as number,
    })
    stage.letOn(1, 2, 3, 4)
    for (const id of ids) await node.ended(id)
    await node.ended(await node.start('subject', 4))
    expect(stage.begun).toEqual([1, 2, 3, 4])
  })

  test('queues no more than its limit, however many starts are concurrent', async () => {
    const stage = new Stage('parallel')
    const node = openNode({ components: [stage.component], limits: { maxConcurrentRuns: 1, maxQueuedRuns: 3 } })
    const starts = await Promise.allSettled(Array.from({ length: 20 }, (_, number) => node.start('subject', number)))
    const accepted = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []))
    expect(accepted.length).toBeLessThanOrEqual(1 + 3)
    const refused = starts.flatMap((start) => (start.status === 'rejected' ? [start.reason as unknown] : []))
    expect(refused.every((reason) => isHoldfastError(reason, 'rate_limited'))).toBe(true)
  })

  test('leaves runs beyond its capacity to another node', async () => {
    const stage = new Stage('parallel')
    const store = createMemoryStore()
    const limits = { leaseMs: 60_000, maxConcurrentRuns: 1 }
    const left = openNode({ store, components: [stage.component], limits })
    openNode({ store, components: [stage.component], limits })
    await left.start('subject', 1)
    const id = await left.start('subject', 2)
    await left.emitted(id, 'text.delta')
    expect(stage.mostAtOnce).toBe(2)
  })

  test('[RUN-4] returns the run of a repeated start, also when it accepts nothing more', async () => {
    const stage = new Stage('parallel')
    const node = openNode({ components: [stage.component], limits: { maxConcurrentRuns: 1, maxQueuedRuns: 0 } })
    const idempotencyKey = 'once'
    const id = await node.start('subject', 1, { idempotencyKey })
    await expect(node.start('subject', 2)).rejects.toMatchObject({ code: 'rate_limited' })
    expect(await node.start('subject', 1, { idempotencyKey })).toBe(id)
    await expect(node.start('subject', 2, { idempotencyKey })).rejects.toMatchObject({ code: 'idempotency_conflict' })
  })
})
