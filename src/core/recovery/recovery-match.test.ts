/** Recorded results, answers and errors are matched to the call that they were recorded for. */
import { describe, expect, test } from 'vitest'
import { settle } from '../../../test/support/manual-clock.ts'
import { aborted, openNode, subject, textOf, type TestNode } from '../../../test/support/node.ts'
import { until } from '../../../test/support/until.ts'
import { hangAtFirst, recovered, ManualWorld, recovering, World } from '../../../test/support/world.ts'
import type { Component, Emission, RunContext } from '../ports/component.ts'
import type { LoggedEvent } from '../model/event.ts'

function nextTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Long enough for the first requests of a recovered run, short enough to wait for in a test. */
const limits = { replayWaitMs: 300 }

/** Charges a customer, and emits who was charged. */
function till() {
  const charged: string[] = []
  const charge = (context: RunContext, who: string): Promise<string> =>
    context.tool({ name: 'charge', input: { who } }, () => {
      charged.push(who)
      return `receipt of ${who}`
    })
  return { charged, charge }
}

function outputOf(log: readonly LoggedEvent[]): unknown {
  const last = log.at(-1)!
  return last.type === 'run.completed' ? last.data.output : last
}

/** A gate that opens from outside. */
function gate(): { readonly open: () => void; readonly opened: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { open: resolve, opened: promise }
}

/** Kills the worker of `before` when the run has reached a point, and then serves `after`. */
async function changed(
  before: Component['run'],
  after: Component['run'],
  reached: (log: readonly LoggedEvent[]) => boolean,
  more: Partial<Component> = {},
): Promise<{ readonly id: string; readonly world: World; readonly second: TestNode }> {
  const world = new World(recovering('resume', before, { limits, ...more }))
  const first = world.worker()
  const id = await first.start('subject')
  await until('the run has come as far as it should', async () => reached(await first.log(id)))
  world.kill()
  return { id, world, second: world.worker([recovering('resume', after, { limits, ...more })]) }
}

function has(type: LoggedEvent['type'], count = 1): (log: readonly LoggedEvent[]) => boolean {
  return (log) => log.filter((event) => event.type === type).length >= count
}

describe('[RUN-5] a recorded result is matched to the call with its input', () => {
  test('parallel branches that come in another order after the crash get their own results', async () => {
    const { charged, charge } = till()
    const component = recovering('resume', async function* (_, context) {
      const bobHasAsked = gate()
      const alice = async (): Promise<string> => {
        if (context.attempt > 1) await bobHasAsked.opened
        const receipt = await charge(context, 'alice')
        await hangAtFirst(context)
        return receipt
      }
      const bob = async (): Promise<string> => {
        await hangAtFirst(context)
        const receipt = charge(context, 'bob')
        bobHasAsked.open()
        return receipt
      }
      const [forAlice, forBob] = await Promise.all([alice(), bob()])
      yield ''
      return { alice: forAlice, bob: forBob }
    })
    const world = new World(component)
    const first = world.worker()
    const id = await first.start('subject')
    await first.emitted(id, 'tool.completed')
    world.kill()
    const log = await world.worker().ended(id)
    expect(outputOf(log)).toEqual({ alice: 'receipt of alice', bob: 'receipt of bob' })
    expect(charged).toEqual(['alice', 'bob'])
  })

  test('a recorded call inside a finished step is not matched to the same tool’s call outside', async () => {
    const { charged, charge } = till()
    const component = recovering('resume', async function* (_, context) {
      const outer = await context.step('outer', () => charge(context, 'alice'))
      yield 'a'
      await hangAtFirst(context)
      return [outer, await charge(context, 'bob'), await charge(context, 'alice')]
    })
    const log = await recovered(component, 1)
    expect(outputOf(log)).toEqual(['receipt of alice', 'receipt of bob', 'receipt of alice'])
    expect(charged).toEqual(['alice', 'bob', 'alice'])
  })

  test('a called component gets its own result, with its own actor', async () => {
    const echo = subject(
      async function* (input) {
        yield `${String(input)} `
        return input
      },
      { id: 'echo' },
    )
    const component = recovering('resume', async function* (_, context) {
      const inputs = context.attempt === 1 ? ['a', 'b'] : ['b', 'a']
      const outputs = await Promise.all(inputs.map((input) => context.call(echo, input)))
      yield 'x'
      await hangAtFirst(context)
      return Object.fromEntries(inputs.map((input, at) => [input, outputs[at]]))
    })
    const log = await recovered(component, 3)
    expect(outputOf(log)).toEqual({ a: 'a', b: 'b' })
    expect(log.filter(({ type }) => type === 'actor.started')).toHaveLength(2)
  })

  test('equal calls in parallel branches: the call whose result the other branch took is executed again', async () => {
    const { charged, charge } = till()
    const component = recovering(
      'resume',
      async function* (_, context) {
        const secondHasReceipt = gate()
        const first = async (): Promise<string[]> => {
          if (context.attempt > 1) await secondHasReceipt.opened
          const receipts = [await charge(context, 'alice'), await charge(context, 'bob')]
          await hangAtFirst(context)
          return receipts
        }
        const second = async (): Promise<string> => {
          await hangAtFirst(context)
          const receipt = await charge(context, 'alice')
          secondHasReceipt.open()
          return receipt
        }
        const receipts = await Promise.all([first(), second()])
        yield ''
        return receipts
      },
      { limits },
    )
    const world = new World(component)
    const worker = world.worker()
    const id = await worker.start('subject')
    await until('both calls of the first branch are recorded', async () =>
      has('tool.completed', 2)(await worker.log(id)),
    )
    world.kill()
    const log = await world.worker().ended(id)
    expect(outputOf(log)).toEqual([['receipt of alice', 'receipt of bob'], 'receipt of alice'])
    expect(charged).toEqual(['alice', 'bob', 'alice'])
  })

  test('equal calls in parallel branches: the call is executed again also if the other branch waits with new work', async () => {
    const { charged, charge } = till()
    const component = recovering(
      'resume',
      async function* (_, context) {
        const secondWaits = gate()
        const first = async (): Promise<string[]> => {
          if (context.attempt > 1) await secondWaits.opened
          const receipts = [await charge(context, 'alice'), await charge(context, 'bob')]
          await hangAtFirst(context)
          return receipts
        }
        const second = async (): Promise<string[]> => {
          await hangAtFirst(context)
          const receipt = await charge(context, 'alice')
          const held = charge(context, 'carol')
          await nextTick()
          secondWaits.open()
          return [receipt, await held]
        }
        const receipts = await Promise.all([first(), second()])
        yield ''
        return receipts
      },
      { limits },
    )
    const world = new World(component)
    const worker = world.worker()
    const id = await worker.start('subject')
    await until('both calls of the first branch are recorded', async () =>
      has('tool.completed', 2)(await worker.log(id)),
    )
    world.kill()
    const log = await world.worker().ended(id)
    expect(outputOf(log)).toEqual([
      ['receipt of alice', 'receipt of bob'],
      ['receipt of alice', 'receipt of carol'],
    ])
    expect(charged.toSorted()).toEqual(['alice', 'alice', 'bob', 'carol'])
  })

  test('equal questions in parallel branches: the question whose answer the other branch took is asked again', async () => {
    const component = recovering(
      'resume',
      async function* (_, context) {
        const secondHasAnswer = gate()
        const first = async (): Promise<unknown[]> => {
          if (context.attempt > 1) await secondHasAnswer.opened
          const answers = [await context.ask('Go on?'), await context.ask('Really?')]
          await hangAtFirst(context)
          return answers
        }
        const second = async (): Promise<unknown> => {
          await hangAtFirst(context)
          const answer = await context.ask('Go on?')
          secondHasAnswer.open()
          return answer
        }
        const answers = await Promise.all([first(), second()])
        yield ''
        return answers
      },
      { limits: { replayWaitMs: 600_000 } },
    )
    const world = new World(component)
    const worker = world.worker()
    const id = await worker.start('subject')
    for (const [question, answer] of [
      ['question', 1],
      ['question#2', 2],
    ] as const) {
      await until(`${question} is asked`, async () =>
        JSON.stringify(await worker.log(id)).includes(`"id":"${question}"`),
      )
      await worker.answer(id, { [question]: answer })
    }
    await until('both answers are recorded', async () => has('run.resumed', 2)(await worker.log(id)))
    world.kill()
    const taker = world.worker()
    await until('the question is asked once more', async () =>
      JSON.stringify(await taker.log(id)).includes('"id":"question#3"'),
    )
    await taker.answer(id, { 'question#3': 3 })
    expect(outputOf(await taker.ended(id))).toEqual([[3, 2], 1])
  })

  test('reordered steps get their own results', async () => {
    const done: string[] = []
    const page = (context: RunContext, name: string): Promise<string> =>
      context.step(name, () => (done.push(name), `page ${name}`))
    const { id, second } = await changed(
      async function* (_, context) {
        yield (await page(context, 'one')) + (await page(context, 'two'))
        await aborted(context.signal)
      },
      async function* (_, context) {
        const two = await page(context, 'two')
        yield (await page(context, 'one')) + two
        return 'done'
      },
      has('text.delta'),
    )
    const log = await second.ended(id)
    expect(textOf(log)).toBe('page onepage two')
    expect(done).toEqual(['one', 'two'])
  })

  test('concurrent steps of one name with different keys get their own results', async () => {
    const component = recovering('resume', async function* (_, context) {
      const pages = context.attempt === 1 ? ['1', '2'] : ['2', '1']
      const results = await Promise.all(pages.map((key) => context.step('fetch', () => `page ${key}`, { key })))
      yield 'a'
      await hangAtFirst(context)
      return Object.fromEntries(pages.map((key, at) => [key, results[at]]))
    })
    expect(outputOf(await recovered(component, 1))).toEqual({ 1: 'page 1', 2: 'page 2' })
  })

  test('equal calls get their results in the order in which they were made', async () => {
    let number = 0
    const component = recovering('resume', async function* (_, context) {
      const dice = (): Promise<number> => context.tool({ name: 'dice', input: 6 }, () => ++number)
      const thrown = [await dice(), await dice()]
      yield 'a'
      await hangAtFirst(context)
      return [...thrown, await dice()]
    })
    expect(outputOf(await recovered(component, 1))).toEqual([1, 2, 3])
  })
})

describe('[RUN-5] concurrent work that would be ambiguous after a crash is rejected at once:', () => {
  const echo = subject(async function* () {
    yield ''
    await settle()
  })
  async function* settling(): AsyncGenerator<Emission, void, void> {
    await settle()
  }
  test.each<[string, (context: RunContext) => Promise<unknown>, string]>([
    [
      'two steps of one name',
      ({ step }) => Promise.all([step('fetch', settle), step('fetch', settle)]),
      'two steps named fetch run concurrently',
    ],
    [
      'two steps of one name and key',
      ({ step }) => Promise.all([step('fetch', settle, { key: '1' }), step('fetch', settle, { key: '1' })]),
      'two steps named fetch with the same key run concurrently',
    ],
    [
      'two stages of one name',
      ({ stage }) => Promise.all([stage('fetch', settling), stage('fetch', settling)]),
      'two steps named fetch run concurrently',
    ],
    [
      'two calls with one input',
      ({ call }) => Promise.all([call(echo, 'a'), call(echo, 'a')]),
      'two calls of subject with the same input run concurrently',
    ],
    [
      'two branches of one name',
      ({ within }) => Promise.all([within('a').step('one', settle), within('a').step('two', settle)]),
      'two branches named a run concurrently',
    ],
  ])('%s', async (_, work, message) => {
    const node = openNode({
      components: [
        subject(async function* (_input, context) {
          yield ''
          await work(context)
        }),
      ],
    })
    const log = await node.ended(await node.start('subject'))
    expect(log.at(-1)).toMatchObject({
      type: 'run.failed',
      data: { error: { code: 'protocol_violation', message: expect.stringContaining(message) as string } },
    })
  })

  test.each<[string, (context: RunContext) => Promise<unknown>]>([
    [
      'steps of one name, one after the other',
      async ({ step }) => [await step('a', () => 1), await step('a', () => 2)],
    ],
    ['steps with other keys', ({ step }) => Promise.all(['1', '2'].map((key) => step('a', () => key, { key })))],
    ['calls with other inputs', ({ call }) => Promise.all([call(echo, 'a'), call(echo, 'b')])],
    ['equal tools', ({ tool }) => Promise.all([1, 2].map((given) => tool({ name: 'a', input: 0 }, () => given)))],
    ['branches of other names', ({ within }) => Promise.all(['a', 'b'].map((name) => within(name).step('x', () => 1)))],
    [
      'branches of one name, one after the other',
      async ({ within }) => [await within('a').step('x', () => 1), await within('a').step('x', () => 2)],
    ],
  ])('unambiguous work is accepted: %s', async (_, work) => {
    const node = openNode({
      components: [
        subject(async function* (_input, context) {
          yield ''
          await work(context)
        }),
      ],
    })
    expect((await node.ended(await node.start('subject'))).at(-1)!.type).toBe('run.completed')
  })
})

describe('[RUN-5] new work waits until the code has asked for everything recorded', () => {
  test('new work waits for recorded work of another branch, however long that branch takes', async () => {
    const order: string[] = []
    const slow = gate()
    const component = recovering('resume', async function* (_, context) {
      const { attempt, tool } = context
      const known = async (): Promise<void> => {
        if (attempt > 1) await slow.opened
        order.push(`asks for known in ${attempt}`)
        await tool({ name: 'known', input: null }, () => order.push('known'))
      }
      const fresh = async (): Promise<void> => {
        if (attempt === 1) await aborted(context.signal)
        order.push('asks for fresh')
        await tool({ name: 'fresh', input: null }, () => order.push('fresh'))
      }
      await Promise.all([known(), fresh()])
      yield 'done'
    })
    const world = new World(component)
    const first = world.worker()
    const id = await first.start('subject')
    await first.emitted(id, 'tool.completed')
    world.kill()
    const second = world.worker()
    await until('the new tool was asked for', () => order.includes('asks for fresh'))
    slow.open()
    await second.ended(id)
    expect(order).toEqual(['asks for known in 1', 'known', 'asks for fresh', 'asks for known in 2', 'fresh'])
  })

  test.each([
    ['a changed input', (context: RunContext) => context.tool({ name: 'pay', input: 500 }, effect('pay'))],
    ['another name', (context: RunContext) => context.tool({ name: 'transfer', input: 5 }, effect('transfer'))],
    ['a step', (context: RunContext) => context.step('pay', effect('step'))],
    ['a component of the same name and input', ({ call }: RunContext) => call(subject(calledEffect, { id: 'pay' }), 5)],
  ])('divergence by %s is detected before it has any effect', async (_, asks) => {
    effects.length = 0
    const { id, second } = await changed(
      async function* (_input, context) {
        await context.tool({ name: 'pay', input: 5 }, effect('paid'))
        yield 'a'
        await aborted(context.signal)
      },
      async function* (_input, context) {
        await asks(context)
        yield 'b'
      },
      has('text.delta'),
    )
    const { run } = await second.reached(id, 'paused')
    expect(run.waiting).toMatchObject([
      { kind: 'diverged', details: { index: 2, recorded: { kind: 'tool', name: 'pay', key: 'pay' } } },
    ])
    expect(effects).toEqual(['paid'])
  })

  test('divergence inside an interrupted step is detected before it has any effect', async () => {
    effects.length = 0
    const body = (input: number) =>
      async function* (_input: unknown, context: RunContext): AsyncGenerator<string> {
        yield 'a'
        await context.step('outer', async () => {
          await context.tool({ name: 'pay', input }, effect(`paid ${input}`))
          await hangAtFirst(context)
        })
      }
    const { id, second } = await changed(body(5), body(500), has('tool.completed'))
    const { run } = await second.reached(id, 'paused')
    expect(run.waiting).toMatchObject([{ kind: 'diverged', details: { asked: { kind: 'tool', name: 'pay' } } }])
    expect(effects).toEqual(['paid 5'])
  })

  test('an interrupted step may take longer than replayWaitMs over the work below it', async () => {
    effects.length = 0
    const component = recovering(
      'resume',
      async function* (_, context) {
        yield 'a'
        await Promise.all([
          context.step('outer', async () => {
            if (context.attempt > 1) await new Promise<void>((resolve) => world.clock.startTimer(resolve, 250))
            await context.tool({ name: 'pay', input: 5 }, effect('paid'))
            await hangAtFirst(context)
          }),
          hangAtFirst(context).then(() => context.tool({ name: 'new', input: 5 }, effect('new'))),
        ])
      },
      { limits: { replayWaitMs: 20 } },
    )
    const world = new ManualWorld(component)
    const first = world.worker()
    const id = await first.start('subject')
    await first.emitted(id, 'tool.completed')
    world.kill()
    const second = world.worker()
    await world.clock.pass(249)
    expect(effects).toEqual(['paid'])
    await world.clock.pass(1)
    expect((await second.ended(id)).at(-1)!.type).toBe('run.completed')
    expect(effects).toEqual(['paid', 'new'])
  })
})

const effects: string[] = []
function effect(name: string): () => string {
  return () => (effects.push(name), name)
}
async function* calledEffect(): AsyncGenerator<string> {
  effects.push('called')
  yield ''
}
