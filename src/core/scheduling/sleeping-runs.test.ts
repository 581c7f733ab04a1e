/** A run that sleeps for more than a minute releases its worker slot and resumes when it wakes up. */
import { describe, expect, test } from 'vitest'
import { ManualClock, settle } from '../../../test/support/manual-clock.ts'
import { aborted, openNode, subject, type TestNode, textOf, typesOf } from '../../../test/support/node.ts'
import { ManualWorld, recovering } from '../../../test/support/world.ts'
import type { Component, RunContext } from '../ports/component.ts'
import type { Limits } from '../model/limits.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
/** One slot, and few timers to fire. */
const limits = { maxConcurrentRuns: 1, leaseMs: 3 * MINUTE, pollIntervalMs: 10 * MINUTE }

const quick = subject(
  async function* () {
    yield 'quick'
  },
  { id: 'quick' },
)

interface Sleeping {
  readonly clock: ManualClock
  readonly node: TestNode
  readonly id: string
}

/** A run on a node with one slot that has done all its work before its first wait. */
async function executing(run: Component['run'], more: Partial<Limits> = {}): Promise<Sleeping> {
  const clock = new ManualClock()
  const node = openNode({ components: [subject(run), quick], clock, limits: { ...limits, ...more } })
  const id = await node.start('subject')
  await settle()
  return { clock, node, id }
}

/** Whether another run gets the slot. */
async function hasFreeSlot({ node }: Sleeping): Promise<boolean> {
  const id = await node.start('quick')
  await settle()
  return (await node.get(id)).run.status === 'completed'
}

describe('[RUN-1] sleep: a sleep', () => {
  test.each([
    ['of a minute keeps the slot', MINUTE, false],
    ['of more than a minute frees the slot', MINUTE + 1, true],
  ])('a sleep %s', async (_, milliseconds, isFree) => {
    const sleeping = await executing(async function* (_input, { sleep }) {
      yield 'a'
      await sleep(milliseconds)
      yield 'b'
    })
    expect(await hasFreeSlot(sleeping)).toBe(isFree)
    const { clock, node, id } = sleeping
    await clock.pass(milliseconds)
    expect(textOf(await node.ended(id))).toBe('ab')
  })

  test.each<[string, (context: RunContext) => Promise<unknown>]>([
    ['a step', ({ step, sleep }) => step('work', () => sleep(DAY))],
    ['a called component', ({ call }) => call(sleeper, null)],
    ['branches that all sleep', ({ sleep }) => Promise.all([sleep(DAY), sleep(2 * DAY)])],
  ])('frees the slot within %s', async (_, work) => {
    const sleeping = await executing(async function* (_input, context) {
      yield 'a'
      await work(context)
    })
    expect(await hasFreeSlot(sleeping)).toBe(true)
  })

  test('keeps the slot while a tool runs beside it, and frees it when that is done', async () => {
    const proceed = Promise.withResolvers<void>()
    const sleeping = await executing(async function* (_input, { tool, sleep }) {
      yield 'a'
      await Promise.all([sleep(DAY), tool({ name: 'work', input: null }, () => proceed.promise)])
    })
    expect(await hasFreeSlot(sleeping)).toBe(false)
    proceed.resolve()
    await settle()
    expect(await hasFreeSlot(sleeping)).toBe(true)
  })

  test('a sleep that is not awaited frees the slot only until the run emits something', async () => {
    const proceed = Promise.withResolvers<void>()
    const sleeping = await executing(async function* (_input, { sleep, signal }) {
      void sleep(DAY).catch(() => {})
      await proceed.promise
      yield 'a'
      await aborted(signal)
    })
    expect(await hasFreeSlot(sleeping)).toBe(true)
    proceed.resolve()
    await settle()
    expect(await hasFreeSlot(sleeping)).toBe(false)
  })

  test('keeps the slot if the maximum number of runs already sleeps', async () => {
    const sleeping = await executing(napping, { maxSleepingRuns: 0 })
    expect(await hasFreeSlot(sleeping)).toBe(false)
  })
})

const sleeper = subject(
  async function* (_, { sleep }) {
    yield 's'
    await sleep(DAY)
  },
  { id: 'sleeper' },
)

async function* napping(_input: unknown, { sleep }: RunContext): AsyncGenerator<string> {
  yield 'a'
  await sleep(2 * MINUTE)
  yield 'b'
}

describe('[RUN-1] sleep: a run that wakes up', () => {
  test('waits for a slot, before queued runs', async () => {
    const proceed = Promise.withResolvers<void>()
    const order: string[] = []
    const noting = (id: string, run: (context: RunContext) => Promise<unknown>): Component =>
      subject(
        async function* (_, context) {
          yield 'a'
          await run(context)
          order.push(id)
        },
        { id },
      )
    const components = [
      noting('asleep', ({ sleep }) => sleep(2 * MINUTE)),
      noting('busy', () => proceed.promise),
      noting('queued', () => settle()),
    ]
    const clock = new ManualClock()
    const node = openNode({ components, clock, limits })
    const ids: string[] = []
    for (const { id } of components) {
      ids.push(await node.start(id))
      await settle()
    }
    await clock.pass(5 * MINUTE)
    expect(order).toEqual([])
    proceed.resolve()
    for (const id of ids) expect((await node.ended(id)).at(-1)!.type).toBe('run.completed')
    expect(order).toEqual(['busy', 'asleep', 'queued'])
  })

  test('never executes with more runs than there are slots', async () => {
    let [atOnce, most] = [0, 0]
    const waking = subject(async function* (_, { sleep, step }) {
      await sleep(2 * MINUTE)
      await step('work', async () => {
        most = Math.max(most, ++atOnce)
        await settle()
        atOnce--
      })
    })
    const clock = new ManualClock()
    const node = openNode({
      components: [waking],
      clock,
      limits: { ...limits, maxConcurrentRuns: 2, maxQueuedRuns: 100 },
    })
    const ids: string[] = []
    for (let count = 0; count < 12; count++) {
      ids.push(await node.start('subject'))
      await settle()
    }
    await clock.pass(3 * MINUTE)
    for (const id of ids) expect((await node.ended(id)).at(-1)!.type).toBe('run.completed')
    expect(most).toBe(2)
  })

  test('[RUN-2] can be stopped while it sleeps and while it waits for a slot', async () => {
    const hangs = subject(
      async function* (_, { signal }) {
        yield 'busy'
        await aborted(signal)
      },
      { id: 'hangs' },
    )
    const clock = new ManualClock()
    const node = openNode({ components: [subject(napping), hangs], clock, limits })
    const ids = [await node.start('subject')]
    await settle()
    ids.push(await node.start('subject'))
    await settle()
    await node.start('hangs')
    await settle()
    await node.stop(ids[0]!)
    await settle()
    await clock.pass(5 * MINUTE)
    expect((await node.get(ids[1]!)).run.status).toBe('running')
    await node.stop(ids[1]!)
    for (const id of ids) expect(typesOf(await node.ended(id)).slice(-2)).toEqual(['stop.requested', 'run.cancelled'])
  })
})

describe('[RUN-6] sleep: a run that slept for long when its worker died', () => {
  const asleep = recovering('resume', async function* (_, { sleep }) {
    yield 'a'
    await sleep(30 * DAY)
    yield 'b'
  })

  test('survives any number of crashes, and wakes up in time on another node', async () => {
    const world = new ManualWorld(asleep)
    const patient = { ...limits, maxAttempts: 2 }
    let worker = world.worker(undefined, patient)
    const id = await worker.start('subject')
    for (let crash = 0; crash < 6; crash++) {
      await settle()
      world.clock.advance(4 * DAY)
      world.kill()
      world.clock.advance(limits.leaseMs)
      worker = world.worker(undefined, patient)
    }
    await world.clock.pass(MINUTE)
    expect((await worker.get(id)).run).toMatchObject({ status: 'running', attempt: 7, interruptions: 6 })
    world.clock.advance(6 * DAY)
    const log = await worker.ended(id)
    expect(textOf(log)).toBe('ab')
    expect(log.filter(({ type }) => type === 'sleep.started')).toHaveLength(1)
  })

  test('is still a suspect when the process dies repeatedly within a minute', async () => {
    const world = new ManualWorld(asleep)
    const hasty = { ...limits, leaseMs: 1000, maxAttempts: 2 }
    let worker = world.worker(undefined, hasty)
    const id = await worker.start('subject')
    for (let crash = 0; crash < 2; crash++) {
      await settle()
      world.kill()
      world.clock.advance(1000)
      worker = world.worker(undefined, hasty)
      await world.clock.pass(1000)
    }
    expect((await worker.ended(id)).at(-1)).toMatchObject({
      type: 'run.failed',
      data: { error: { code: 'interrupted' } },
    })
  })
})
