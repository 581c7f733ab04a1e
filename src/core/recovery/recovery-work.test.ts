/** Recovery does not repeat finished work, and repeats uncertain work only where that is declared. */
import { describe, expect, test } from 'vitest'
import { aborted, subject, type TestNode, textOf, typesOf } from '../../../test/support/node.ts'
import { until } from '../../../test/support/until.ts'
import { hangAtFirst, recovered, recovering, World } from '../../../test/support/world.ts'
import { type Component, WorkError } from '../ports/component.ts'

/** Counts how often each piece of work was done. */
function counted(): { readonly done: string[]; work: (name: string) => () => string } {
  const done: string[] = []
  return { done, work: (name) => () => (done.push(name), `${name}!`) }
}

describe('[RUN-1] recorded work is not repeated:', () => {
  test('steps are not repeated, also several of one name', async () => {
    const { done, work } = counted()
    const component = recovering('resume', async function* (_, context) {
      const results = [
        await context.step('fetch', work('fetch')),
        await context.step('fetch', work('fetch again')),
        await context.tool({ name: 'fetch', input: 1 }, work('a tool of that name')),
      ]
      yield results.join(' ')
      await hangAtFirst(context)
      yield ` ${await context.step('fetch', work('fetch at last'))}`
    })
    const log = await recovered(component, 1)
    expect(done).toEqual(['fetch', 'fetch again', 'a tool of that name', 'fetch at last'])
    expect(textOf(log)).toBe('fetch! fetch again! a tool of that name! fetch at last!')
    const keys = log.flatMap((event) => (event.type === 'step.completed' ? event.data.key : []))
    expect(keys).toEqual(['fetch', 'fetch#2', 'fetch#3'])
  })

  test('recovery retry: steps are executed again', async () => {
    const { done, work } = counted()
    const component = recovering('retry', async function* (_, context) {
      yield await context.step('fetch', work('fetch'))
      await hangAtFirst(context)
    })
    const log = await recovered(component, 1)
    expect(done).toEqual(['fetch', 'fetch'])
    expect(log.at(-1)!.type).toBe('run.completed')
  })

  test('an interrupted step is repeated, under the same name', async () => {
    const { done, work } = counted()
    const component = recovering('resume', async function* (_, context) {
      yield 'a'
      yield await context.step('fetch', async () => {
        work('fetch')()
        await hangAtFirst(context)
        return 'b'
      })
    })
    const world = new World(component)
    const first = world.worker()
    const id = await first.start('subject')
    await until('the step began', () => done.length > 0)
    world.kill()
    const log = await world.worker().ended(id)
    expect(done).toEqual(['fetch', 'fetch'])
    expect(textOf(log)).toBe('ab')
    expect(typesOf(log).filter((type) => type.startsWith('step.'))).toEqual(['step.started', 'step.completed'])
  })

  test('a failed step fails again, as recorded', async () => {
    const { done, work } = counted()
    const caught: unknown[] = []
    const component = recovering('resume', async function* (_, context) {
      await context
        .step('fetch', () => {
          work('fetch')()
          throw new RangeError('out of reach')
        })
        .catch((thrown: unknown) => caught.push(thrown))
      yield 'a'
      await hangAtFirst(context)
    })
    await recovered(component, 1)
    expect(done).toEqual(['fetch'])
    const failure = { code: 'agent_failed', message: 'out of reach', details: { type: 'RangeError' } }
    for (const thrown of caught) {
      expect(thrown).toBeInstanceOf(WorkError)
      expect(thrown).toMatchObject({ name: 'RangeError', message: 'out of reach', code: 'agent_failed', failure })
    }
    expect((caught[0] as Error).cause).toBeInstanceOf(RangeError)
    expect((caught[1] as Error).cause).toBeUndefined()
  })

  test('a recorded result is the same value in every attempt', async () => {
    const results: unknown[] = []
    const component = recovering('resume', async function* (_, context) {
      results.push([
        await context.step('date', () => new Date(0)),
        await context.step('map', () => new Map([['a', 1n]])),
        await context.step('nothing', () => undefined),
        await context.tool({ name: 'nothing', input: null }, () => undefined),
      ])
      yield 'a'
      await hangAtFirst(context)
    })
    await recovered(component, 1)
    expect(results).toHaveLength(2)
    expect(results[1]).toEqual(results[0])
  })

  test('an answered question is not asked again', async () => {
    const component = recovering('resume', async function* (_, context) {
      yield `[${String(await context.ask('Go on?'))}]`
      await hangAtFirst(context)
      yield 'b'
    })
    const world = new World(component)
    const first = world.worker()
    const id = await first.start('subject')
    await first.reached(id, 'paused')
    await first.answer(id, { question: 'yes' })
    await first.emitted(id, 'text.delta')
    world.kill()
    const log = await world.worker().ended(id)
    expect(textOf(log)).toBe('[yes]b')
    expect(typesOf(log).filter((type) => type === 'run.paused')).toHaveLength(1)
  })
})

/** Calls a tool that hangs while `hangs` is true, and emits the idempotency keys of its calls. */
function calling(more: Partial<Component>, idempotent?: boolean) {
  const keys: string[] = []
  let hangs = true
  const call = { name: 'pay', input: { amount: 5 }, ...(idempotent !== undefined && { idempotent }) }
  const component = subject(
    async function* (_, context) {
      yield 'a'
      const paid = await context.tool(call, async ({ key, signal }) => {
        keys.push(key)
        if (hangs) await aborted(signal)
        return 'paid'
      })
      yield `[${JSON.stringify(paid)}]`
    },
    { recovery: 'resume', ...more },
  )
  return { component, keys, heal: () => (hangs = false) }
}

/** The worker died in the middle of the call, and another one took over. */
async function cutOff({ component, keys, heal }: ReturnType<typeof calling>, healed = true) {
  const world = new World(component)
  const first = world.worker()
  const id = await first.start('subject')
  await until('the tool was called', () => keys.length > 0)
  world.kill()
  if (healed) heal()
  return { world, id, second: world.worker() }
}

/** Answers the only question of a run. */
async function decide(node: TestNode, id: string, answer: unknown): Promise<void> {
  const { run } = await node.reached(id, 'paused')
  await node.answer(id, { [run.waiting![0]!.id]: answer })
}

describe('[RUN-1] recovery: an interrupted tool call', () => {
  test('is repeated with the same key if it is idempotent', async () => {
    const call = calling({}, true)
    const { id, second } = await cutOff(call)
    const log = await second.ended(id)
    expect(textOf(log)).toBe('a["paid"]')
    expect(call.keys).toEqual([`${id}/pay`, `${id}/pay`])
    expect(typesOf(log).filter((type) => type.startsWith('tool.'))).toEqual(['tool.called', 'tool.completed'])
  })

  test('waits for a decision if it is not idempotent', async () => {
    const call = calling({})
    const { id, second } = await cutOff(call)
    const { run } = await second.reached(id, 'paused')
    expect(run.waiting).toMatchObject([
      { kind: 'uncertain', details: { tool: 'pay', input: { amount: 5 }, key: 'pay' } },
    ])
    expect(call.keys).toHaveLength(1)
  })

  test.each([
    ['to make it again', { action: 'retry' }, 'a["paid"]', 2],
    ['to make it again, in one word', 'retry', 'a["paid"]', 2],
    ['to take a result instead', { action: 'result', value: { receipt: 7 } }, 'a[{"receipt":7}]', 1],
    ['to take nothing as its result', { action: 'result', value: null }, 'a[null]', 1],
  ])('continues when it is decided %s', async (_, answer, text, calls) => {
    const call = calling({})
    const { id, second } = await cutOff(call)
    await decide(second, id, answer)
    const log = await second.ended(id)
    expect(textOf(log)).toBe(text)
    expect(call.keys).toHaveLength(calls)
    expect(
      typesOf(log)
        .filter((type) => type.startsWith('tool.'))
        .at(-1),
    ).toBe('tool.completed')
  })

  test.each([[{ action: 'fail' }], ['fail']])('fails the run when the decision is %j', async (answer) => {
    const call = calling({})
    const { id, second } = await cutOff(call)
    await decide(second, id, answer)
    const log = await second.ended(id)
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { code: 'uncertain_tool' } } })
    expect(call.keys).toHaveLength(1)
  })

  test('fails the run at once if its component is configured so', async () => {
    const call = calling({ onUncertainTool: 'fail' })
    const { id, second } = await cutOff(call)
    const log = await second.ended(id)
    const error = { code: 'uncertain_tool', details: { tool: 'pay', key: 'pay' } }
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error } })
    expect(call.keys).toHaveLength(1)
  })

  test('[RUN-5] has a decision of its own, also when another of its name is interrupted', async () => {
    const made: string[] = []
    let hangs = true
    const component = subject(
      async function* (_, context) {
        yield 'a'
        const pay = (input: number): Promise<string> =>
          context.tool({ name: 'pay', input }, async ({ signal }) => {
            made.push(`pay ${input}`)
            if (hangs) await aborted(signal)
            return `paid ${input}`
          })
        yield JSON.stringify(await Promise.all([pay(1), pay(2)]))
      },
      { recovery: 'resume' },
    )
    const world = new World(component)
    const first = world.worker()
    const id = await first.start('subject')
    await until('both were called', () => made.length === 2)
    world.kill()
    const second = world.worker()
    await second.reached(id, 'paused')
    await second.answer(id, { 'uncertain:pay': 'retry', 'uncertain:pay#2': { action: 'result', value: 'seen 2' } })
    await until('the first was called again', () => made.length === 3)
    world.kill()
    hangs = false
    const third = world.worker()
    await decide(third, id, { action: 'result', value: 'seen 1' })
    expect(textOf(await third.ended(id))).toBe('a["seen 1","seen 2"]')
    expect(made).toEqual(['pay 1', 'pay 2', 'pay 1'])
  })

  test('waits for another decision when it is interrupted again', async () => {
    const call = calling({})
    const { world, id, second } = await cutOff(call, false)
    await decide(second, id, 'retry')
    await until('the tool was called again', () => call.keys.length === 2)
    world.kill()
    call.heal()
    const third = world.worker()
    await third.reached(id, (status) => status !== 'running')
    expect((await third.get(id)).run).toMatchObject({ status: 'paused', waiting: [{ kind: 'uncertain' }] })
    expect(call.keys).toHaveLength(2)
    await decide(third, id, { action: 'result', value: 'seen' })
    expect(textOf(await third.ended(id))).toBe('a["seen"]')
  })
})
