/** Runs that kill their process, and the runs that executed beside them. */
import { describe, expect, test } from 'vitest'
import { aborted, openNode, textOf, type TestNode, typesOf } from '../../../test/support/node.ts'
import { until } from '../../../test/support/until.ts'
import { recovering, World } from '../../../test/support/world.ts'
import type { EventType } from '../model/event.ts'
import { defaultLimits } from '../model/limits.ts'
import type { Emission, RecoveryPolicy, RunContext } from '../ports/component.ts'

const KILLS = 8

const member = recovering('resume', async function* () {}, { id: 'member' })

function refuse(): never {
  throw new Error('refused')
}

async function survives(world: World, isReady: (worker: TestNode, id: string, kill: number) => Promise<unknown>) {
  let worker = world.worker()
  const id = await worker.start('subject')
  for (let kill = 1; kill <= KILLS; kill++) {
    await isReady(worker, id, kill)
    world.kill()
    worker = world.worker()
  }
  return worker.ended(id)
}

describe('[RUN-6] crash loops: only attempts without progress count', () => {
  test('a run with new output in each attempt survives any number of crashes', async () => {
    const world = new World(
      recovering('resume', async function* (_, { attempt, signal }) {
        for (let word = 1; word <= attempt; word++) yield `${word} `
        if (attempt <= KILLS) await aborted(signal)
      }),
    )
    const log = await survives(world, (worker, id, kill) => worker.emitted(id, 'text.delta', kill))
    expect(log.at(-1)!.type).toBe('run.completed')
    expect(textOf(log)).toBe('1 2 3 4 5 6 7 8 9 ')
  })

  test.each<[string, EventType, (context: RunContext, part: string) => Promise<unknown>]>([
    ['finishes a step', 'step.completed', ({ step }, part) => step(part, () => part)],
    ['fails a step', 'step.failed', ({ step }, part) => step(part, refuse)],
    ['finishes a tool', 'tool.completed', ({ tool }, name) => tool({ name, input: null }, () => name)],
    ['fails a tool', 'tool.failed', ({ tool }, name) => tool({ name, input: null }, refuse)],
    ['finishes a call', 'actor.completed', ({ call }, name) => call(member, null, { name })],
  ])('a run that %s in each attempt survives any number of crashes', async (_, done, work) => {
    const world = new World(
      recovering('resume', async function* (_input, context) {
        for (let part = 1; part <= context.attempt; part++) await work(context, `part ${part}`).catch(() => {})
        if (context.attempt <= KILLS) await aborted(context.signal)
      }),
    )
    const log = await survives(world, (worker, id, kill) => worker.emitted(id, done, kill))
    expect(log.at(-1)!.type).toBe('run.completed')
  })

  test('an answer is progress', async () => {
    const world = new World(
      recovering('resume', async function* (_, { ask, signal, attempt }) {
        for (let question = 1; question <= KILLS; question++) {
          await ask(`${question}?`)
          if (attempt <= question) await aborted(signal)
        }
      }),
    )
    const log = await survives(world, async (worker, id, kill) => {
      await worker.emitted(id, 'run.paused', kill)
      const { waiting } = (await worker.get(id)).run
      await worker.answer(id, { [waiting![0]!.id]: 'yes' })
    })
    expect(log.at(-1)!.type).toBe('run.completed')
  })

  test('an answer is progress of its attempt only', async () => {
    const world = new World(
      recovering('resume', async function* (_, { ask, signal }) {
        await ask('Go?')
        await aborted(signal)
      }),
    )
    const first = world.worker()
    const id = await first.start('subject')
    const { run } = await first.reached(id, 'paused')
    await first.answer(id, { [run.waiting![0]!.id]: 'yes' })
    world.kill()
    for (let attempt = 2; attempt <= 3; attempt++) {
      await world.worker().emitted(id, 'run.started', attempt)
      world.kill()
    }
    const log = await world.worker().endedWithin(id, 3)
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { code: 'interrupted' } } })
  })

  test.each([
    ['retry', 'repeats its output'],
    ['resume', 'has different output at the same index'],
  ] as const)('recovery %s: an attempt that %s makes no progress', async (recovery, _does) => {
    const world = new World(
      recovering(recovery, async function* (_, { attempt, signal, step }) {
        await step('always', () => 1)
        yield recovery === 'retry' ? 'same' : `[${attempt}]`
        await aborted(signal)
      }),
    )
    let id = ''
    for (let attempt = 1; attempt <= 3; attempt++) {
      const worker = world.worker()
      if (attempt === 1) id = await worker.start('subject')
      await worker.emitted(id, 'text.delta', attempt)
      world.kill()
    }
    const log = await world.worker().endedWithin(id, 3)
    const message =
      'the run was interrupted 3 times in a row without progress in between: the server log may say what ends the process; maxAttempts limits this'
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { code: 'interrupted', message } } })
  })

  test('interruptions have a hard limit, with or without progress', async () => {
    const world = new World(
      recovering('resume', async function* (_, { attempt, signal }) {
        for (let word = 1; word <= attempt; word++) yield `${word} `
        await aborted(signal)
      }),
    )
    const limits = { maxInterruptions: 3 }
    const id = await world.orphan(1)
    for (let attempt = 2; attempt <= 3; attempt++) {
      await world.worker(world.components, limits).emitted(id, 'text.delta', attempt)
      world.kill()
    }
    const log = await world.worker(world.components, limits).endedWithin(id, 3)
    expect(log.at(-1)).toMatchObject({
      data: { error: { code: 'interrupted', message: 'the run was interrupted 3 times, which is the limit' } },
    })
    expect(defaultLimits.maxInterruptions).toBe(100)
  })
})

describe('[RUN-6] crash loops: after a crash', () => {
  /** Runs that emit their number and wait to be released, and which of them execute. */
  function crowd(recovery: RecoveryPolicy = 'resume') {
    const executing = new Map<string, () => void>()
    async function* run(input: unknown, { runId: id, attempt, signal }: RunContext): AsyncGenerator<Emission> {
      yield String(input)
      if (attempt === 1) return await aborted(signal)
      const { promise, resolve } = Promise.withResolvers<void>()
      executing.set(id, resolve)
      await Promise.race([promise, aborted(signal)]).finally(() => {
        if (executing.get(id) === resolve) executing.delete(id) // not that of the next attempt
      })
    }
    return { executing, world: new World(recovering(recovery, run)) }
  }

  async function crash(world: World, count: number): Promise<string[]> {
    const worker = world.worker()
    const ids = await Promise.all(Array.from({ length: count }, (_, number) => worker.start('subject', number)))
    await Promise.all(ids.map((id) => worker.emitted(id, 'text.delta')))
    world.kill()
    return ids
  }

  test('at most half of the interrupted runs execute at once, and the others follow as these end', async () => {
    const { executing, world } = crowd()
    const ids = await crash(world, 7)
    const worker = world.worker()
    let most = 0
    for (let ended = 0; ended < 7; ended++) {
      await until('a suspect executes', () => executing.size >= Math.min(3, 7 - ended))
      most = Math.max(most, executing.size)
      const [first] = executing
      first![1]()
      await worker.reached(first![0], 'completed')
    }
    expect(most).toBe(3)
    for (const id of ids) expect((await worker.get(id)).run).toMatchObject({ status: 'completed', attempt: 2 })
  })

  test('each further crash halves the number of suspects that execute at once', async () => {
    const { executing, world } = crowd()
    const ids = await crash(world, 8)
    for (const most of [4, 2, 1]) {
      const worker = world.worker()
      await until('suspects execute, or one ended', async () => {
        const runs = await Promise.all(ids.map((id) => worker.get(id)))
        return executing.size >= most || runs.some(({ run }) => run.status === 'failed')
      })
      expect(executing.size).toBe(most)
      const suspects = await Promise.all([...executing.keys()].map((id) => worker.get(id)))
      expect(suspects.map(({ run }) => run.suspect!.concurrency)).toEqual(suspects.map(() => most))
      // The same ones again, as if they were the cause: the others are not there any more.
      for (const id of ids)
        if (!executing.has(id)) {
          await worker.stop(id)
          await worker.reached(id, 'cancelled')
        }
      world.kill()
      executing.clear()
    }
    const last = world.worker()
    const outcomes = await Promise.all(ids.map(async (id) => (await last.ended(id)).at(-1)!.type))
    expect(outcomes.filter((type) => type === 'run.failed')).toHaveLength(1)
    expect(outcomes.filter((type) => type === 'run.cancelled')).toHaveLength(7)
  })

  test('[RUN-2] a waiting suspect can be stopped without being executed', async () => {
    const { executing, world } = crowd()
    const ids = await crash(world, 2)
    const worker = world.worker()
    await until('one executes', () => executing.size === 1)
    const waiting = ids.find((id) => !executing.has(id))!
    await worker.stop(waiting)
    const log = await worker.ended(waiting)
    expect(typesOf(log).slice(3)).toEqual(['stop.requested', 'run.cancelled'])
  })

  test('a drain gives waiting suspects back', async () => {
    const { executing, world } = crowd()
    const ids = await crash(world, 2)
    const worker = world.worker()
    await until('one executes', () => executing.size === 1)
    await worker.service.drain()
    for (const id of ids) expect((await world.store.get(id))!.lease).toBeUndefined()
    const next = openNode({ components: world.components, store: world.store, clock: world.clock })
    await until('both have executed', async () => {
      for (const end of executing.values()) end()
      const runs = await Promise.all(ids.map((id) => next.get(id)))
      return runs.every(({ run }) => run.status === 'completed')
    })
  })
})
