/** context.call: actors of events, error propagation, no repetition after a crash. */
import { describe, expect, test } from 'vitest'
import { aborted, openNode, subject, textOf, typesOf } from '../../../test/support/node.ts'
import { hangAtFirst, recovered, recovering } from '../../../test/support/world.ts'
import { agent } from '../../agents/agent.ts'
import { type Component, type RunContext, WorkError } from '../ports/component.ts'
import type { LoggedEvent } from '../model/event.ts'

const echo = agent<unknown>({
  id: 'echo',
  async *run(input) {
    yield `${String(input)}!`
    return String(input).toUpperCase()
  },
})

async function logOf(run: Component['run']): Promise<LoggedEvent[]> {
  const node = openNode({ components: [subject(run)] })
  return node.ended(await node.start('subject'))
}

/** Texts by actor. */
function outputOf(log: readonly LoggedEvent[]): [string, string][] {
  return log.flatMap((event) =>
    event.type === 'text.delta' ? [[event.actor?.run.split('/').slice(1).join('/') ?? '', event.data.text]] : [],
  )
}

describe('a called component', () => {
  test('emits under its own actor and returns its output to the caller', async () => {
    const log = await logOf(async function* (_, context) {
      yield 'before '
      yield String(await context.call(echo, 'hello'))
    })
    expect(typesOf(log).slice(2)).toEqual([
      'text.delta',
      'actor.started',
      'text.delta',
      'actor.completed',
      'text.delta',
      'run.completed',
    ])
    const run = log[0]!.run
    const actor = { component: 'echo', run: `${run}/echo`, parent: run, kind: 'agent' }
    expect(log.slice(3, 6).map((event) => event.actor)).toEqual([actor, actor, actor])
    expect(log[5]!.data).toEqual({ output: 'HELLO', key: 'echo' })
    expect(outputOf(log)).toEqual([
      ['', 'before '],
      ['echo', 'hello!'],
      ['', 'HELLO'],
    ])
  })

  test('has its own names for its work, and so have the components it calls', async () => {
    const inner = agent<unknown>({
      id: 'inner',
      async *run(_, context) {
        yield await context.step('s', () => context.runId.split('/').slice(1).join('/'))
      },
    })
    const outer = agent<unknown>({
      id: 'outer',
      async *run(_, context) {
        await context.step('s', () => 1)
        await context.call(inner, 1)
        await context.call(inner, 2, { name: 'other' })
      },
    })
    const log = await logOf(async function* (_, context) {
      await context.step('s', () => 1)
      await context.call(outer, 1)
    })
    const keys = log.flatMap((event) => (event.type === 'step.completed' ? [event.data.key] : []))
    expect(keys).toEqual(['s', 'outer/s', 'outer/inner/s', 'outer/other/s'])
    expect(outputOf(log)).toEqual([
      ['outer/inner', 'outer/inner'],
      ['outer/other', 'outer/other'],
    ])
    const parents = log.flatMap((event) => (event.type === 'actor.started' ? [event.actor!.parent] : []))
    expect(parents).toEqual([log[0]!.run, `${log[0]!.run}/outer`, `${log[0]!.run}/outer`])
  })

  test('names that contain separators are not confused with others', async () => {
    const log = await logOf(async function* (_, context) {
      await context.step('echo/s', () => 1)
      await context.step('s#2', () => 1)
      await context.step('s', () => 1)
      await context.step('s', () => 1)
      await context.within('echo').step('s', () => 1)
    })
    const keys = log.flatMap((event) => (event.type === 'step.completed' ? [event.data.key] : []))
    expect(new Set(keys).size).toBe(5)
  })

  test.each<[string, Component['run'], object]>([
    [
      'throws',
      async function* () {
        throw new RangeError('out of reach')
      },
      { code: 'agent_failed', message: 'out of reach' },
    ],
    [
      'emits what cannot be serialized',
      async function* () {
        yield { type: 'custom.emitted', data: { name: 'x', value: () => 1 } }
      },
      { code: 'unserializable', message: 'event custom.emitted: data.value is a function' },
    ],
    [
      'emits run.failed',
      async function* () {
        yield { type: 'run.failed', data: { error: { code: 'mine', message: 'no' } } }
      },
      { code: 'mine' },
    ],
    [
      'rejects',
      async function* (_, context) {
        context.reject('not today')
      },
      { code: 'rejected', message: 'not today' },
    ],
    ['is not a generator', (() => 5) as unknown as Component['run'], { code: 'protocol_violation' }],
  ])('a component that %s fails alone: the caller gets the failure and continues', async (_, run, failure) => {
    // prettier-ignore
    const log = await logOf(async function* (_input, context) {
      try {
        await context.call(agent<unknown>({ id: 'member', run }), 1)
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(WorkError)
        yield 'told'
      }
    })
    const failed = log.find((event) => event.type === 'actor.failed')
    expect(failed?.data).toMatchObject({ error: failure })
    expect(typesOf(log).slice(-2)).toEqual(['text.delta', 'run.completed'])
  })

  test('is aborted when it times out, which is its failure', async () => {
    let received = false
    const slow = agent<unknown>({
      id: 'slow',
      async *run(_, { signal }) {
        yield 'a'
        await aborted(signal).finally(() => (received = true))
      },
    })
    const log = await logOf(async function* (_, context) {
      yield String(await context.call(slow, 1, { timeoutMs: 20 }).catch((thrown: WorkError) => thrown.failure.code))
    })
    expect(textOf(log)).toBe('adeadline_exceeded')
    expect(received).toBe(true)
  })

  test('[RUN-2] is aborted when the run is stopped', async () => {
    let received = false
    const hangs = agent<unknown>({
      id: 'hangs',
      async *run(_, { signal }) {
        yield 'a'
        await aborted(signal).finally(() => (received = true))
      },
    })
    const node = openNode({ components: [subject(async function* (_, context) { await context.call(hangs, 1) })] }) // prettier-ignore
    const id = await node.start('subject')
    await node.emitted(id, 'text.delta')
    await node.stop(id)
    expect(typesOf(await node.ended(id)).slice(-2)).toEqual(['stop.requested', 'run.cancelled'])
    expect(received).toBe(true)
  })

  test('cannot call itself without bound', async () => {
    const endless: Component = agent<unknown>({
      id: 'endless',
      async *run(_, context) {
        await context.call(endless, 1)
      },
    })
    const log = await logOf(async function* (_, context) {
      await context.call(endless, 1)
    })
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { message: /16 deep/ } } })
  })

  test('asks through the run, and its question names it', async () => {
    const asks = agent<unknown>({
      id: 'asks',
      async *run(_, context) {
        yield `[${String(await context.ask('Which?'))}]`
      },
    })
    const node = openNode({ components: [subject(async function* (_, context) { await Promise.all([context.call(asks, 1), context.call(asks, 2)]) })] }) // prettier-ignore
    const id = await node.start('subject')
    const { run } = await node.reached(id, 'paused')
    expect(run.waiting?.map((question) => [question.id, question.actor?.run])).toEqual([
      ['asks/question', `${id}/asks`],
      ['asks#2/question', `${id}/asks#2`],
    ])
    await node.answer(id, { 'asks/question': 'a', 'asks#2/question': 'b' })
    expect(Object.fromEntries(outputOf(await node.ended(id)))).toEqual({ asks: '[a]', 'asks#2': '[b]' })
  })
})

describe('[RUN-1] after a crash', () => {
  test('a finished actor is not called again, and an interrupted one is resumed', async () => {
    const calls: string[] = []
    const member = agent({
      id: 'member',
      async *run(input, context) {
        calls.push(input)
        yield `${input}1 `
        if (input === 'b') await hangAtFirst(context)
        yield `${input}2 `
        return input
      },
    })
    const component = recovering('resume', async function* (_, context) {
      yield String(await context.call(member, 'a'))
      yield String(await context.call(member, 'b'))
    })
    const log = await recovered(component, 4)
    expect(calls).toEqual(['a', 'b', 'b'])
    expect(textOf(log)).toBe('a1 a2 ab1 b2 b')
    expect(typesOf(log)).not.toContain('attempt.discarded')
  })

  test('concurrent actors are matched separately', async () => {
    const turns = { first: [1, 2, 3], second: [1, 2, 3] }
    const member = (id: keyof typeof turns): Component =>
      agent<unknown>({
        id,
        async *run(_, context) {
          for (const turn of turns[id]) {
            // In the second attempt the other one is the faster.
            await context.sleep(id === 'first' ? 1 : 5)
            yield `${id}${turn} `
          }
          await hangAtFirst(context)
          yield `${id} end `
        },
      })
    const component = recovering('resume', async function* (_, context) {
      await Promise.all([context.call(member('first'), 1), context.call(member('second'), 1)])
    })
    const log = await recovered(component, 6)
    expect(typesOf(log)).not.toContain('attempt.discarded')
    for (const id of ['first', 'second']) {
      expect(
        outputOf(log)
          .filter(([who]) => who === id)
          .map(([, text]) => text),
      ).toEqual([`${id}1 `, `${id}2 `, `${id}3 `, `${id} end `])
    }
  })

  test('an actor with different output retracts only its own', async () => {
    let round = 0
    const fickle = agent<unknown>({
      id: 'fickle',
      async *run(_, context) {
        yield `${++round} `
        await hangAtFirst(context)
      },
    })
    const component = recovering('resume', async function* (_, context) {
      yield 'mine '
      await context.call(fickle, 1)
    })
    const log = await recovered(component, 2)
    const discarded = log.find((event) => event.type === 'attempt.discarded')
    expect(discarded).toMatchObject({ actor: { component: 'fickle' }, data: { scope: 'own', from: 4, ledger: 'kept' } })
    expect(textOf(log)).toBe('mine 2 ')
  })
})

/** Emits two texts and returns how often it was called. */
function play(context: RunContext, count: () => number, then: () => Promise<void> = async () => {}): Promise<number> {
  return context.stage('play', async function* () {
    const number = count()
    yield `${number}a `
    await then()
    yield `${number}b `
    return number
  })
}

function counting(): () => number {
  let count = 0
  return () => ++count
}

describe('a stage', () => {
  test('emits while it runs, and returns its result', async () => {
    const count = counting()
    const log = await logOf(async function* (_, context) {
      yield `= ${await play(context, count)}`
    })
    expect(textOf(log)).toBe('1a 1b = 1')
    expect(typesOf(log).slice(2, 6)).toEqual(['step.started', 'text.delta', 'text.delta', 'step.completed'])
    expect(log[2]!.data).toMatchObject({ covers: true, key: 'play' })
  })

  test('[RUN-1] a stage that finished before the crash is not executed again', async () => {
    const count = counting()
    const log = await recovered(
      recovering('resume', async function* (_, context) {
        yield 'first '
        const number = await play(context, count)
        yield `= ${number} `
        await hangAtFirst(context)
        yield 'end'
      }),
      4,
    )
    expect(textOf(log)).toBe('first 1a 1b = 1 end')
    expect(typesOf(log)).not.toContain('attempt.discarded')
  })

  test('[RUN-1] an interrupted stage is executed again, and its earlier output is retracted', async () => {
    const count = counting()
    const log = await recovered(
      recovering('resume', async function* (_, context) {
        yield 'first '
        yield `= ${await play(context, count, () => hangAtFirst(context))}`
      }),
      2,
    )
    expect(textOf(log)).toBe('first 2a 2b = 2')
    expect(log.filter((event) => event.type === 'attempt.discarded')).toHaveLength(1)
  })

  test('a failed stage retracts its output and can be retried', async () => {
    const count = counting()
    const log = await logOf(async function* (_, context) {
      yield 'first '
      const fails = (): Promise<void> => Promise.reject(new Error('cut off'))
      await play(context, count, fails).catch(() => {})
      yield `= ${await play(context, count)}`
    })
    expect(textOf(log)).toBe('first 2a 2b = 2')
    const keys = log.flatMap((event) => (event.type === 'step.started' ? [event.data.key] : []))
    expect(keys).toEqual(['play', 'play#2'])
  })

  test('cannot end its run', async () => {
    const log = await logOf(async function* (_, context) {
      await context.stage('play', async function* () {
        yield { type: 'run.completed', data: {} }
      })
    })
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { code: 'protocol_violation' } } })
  })
})
