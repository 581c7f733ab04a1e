/** An agent that calls itself without end gets an error, and other runs continue. */
import { describe, expect, test } from 'vitest'
import { openNode, subject } from '../../../test/support/node.ts'
import { hangAtFirst, recovering, World } from '../../../test/support/world.ts'
import type { Component, RunContext } from '../ports/component.ts'
import type { LoggedEvent } from '../model/event.ts'

function failureIn(log: readonly LoggedEvent[]): unknown {
  const last = log.at(-1)!
  return last.type === 'run.failed' ? last.data.error : last
}

async function run(component: Component): Promise<LoggedEvent[]> {
  const node = openNode({ components: [component] })
  return node.ended(await node.start('subject'), 60_000)
}

function twice(isParallel: boolean, limits: Component['limits']): Component {
  const self: Component = subject(
    async function* (depth, { call }) {
      yield ''
      if (depth === 16) return
      const next = Number(depth ?? 0) + 1
      const calls = [() => call(self, next, { name: 'left' }), () => call(self, next, { name: 'right' })]
      if (isParallel) await Promise.all(calls.map((each) => each()))
      else for (const each of calls) await each()
    },
    { limits: limits! },
  )
  return self
}

const ALL_AT_ONCE: readonly (readonly [string, (context: RunContext, number: number) => Promise<unknown>])[] = [
  ['steps', ({ step }, number) => step(`step ${number}`, () => number)],
  ['stages', ({ stage }, number) => stage(`stage ${number}`, async function* () {})],
  ['tools', ({ tool }, input) => tool({ name: 'count', input }, () => input)],
  ['questions', ({ ask }, number) => ask(`Question ${number}?`)],
  [
    'calls',
    ({ call }, number) =>
      call(
        subject(async function* () {}),
        number,
      ),
  ],
]

describe('[RUN-6] too much concurrent work of one run is rejected', () => {
  test.each(ALL_AT_ONCE)('ten thousand %s at once fail the run', async (_, work) => {
    const log = await run(
      subject(async function* (_input, context) {
        yield ''
        await Promise.all(Array.from({ length: 10_000 }, (_each, number) => work(context, number)))
      }),
    )
    expect(failureIn(log)).toMatchObject({
      code: 'protocol_violation',
      message: expect.stringMatching(/1000 steps, tools, calls and questions of the run are under way/) as string,
      details: { limit: 'maxConcurrentWork' },
    })
    expect(log.length).toBeLessThan(5000)
  })

  test('an agent that calls itself twice recursively, in sequence, fails at the limit of calls', async () => {
    const log = await run(twice(false, { maxTotalCalls: 200 }))
    expect(failureIn(log)).toMatchObject({ message: expect.stringContaining('has made 200 calls') as string })
    expect(log.filter(({ type }) => type === 'actor.started')).toHaveLength(200)
  })

  test('an agent that calls itself twice recursively, concurrently, fails at the limit of concurrent work', async () => {
    const log = await run(twice(true, {}))
    expect(failureIn(log)).toMatchObject({ message: expect.stringContaining('under way') as string })
    expect(log.filter(({ type }) => type === 'actor.started').length).toBeLessThan(10_000)
  })

  test('the work of earlier attempts counts towards the limit', async () => {
    const world = new World(
      recovering(
        'resume',
        async function* (_, context) {
          for (let number = 0; number < 5; number++) await context.step('count', () => number)
          yield 'five'
          await hangAtFirst(context)
          for (let number = 5; number < 10; number++) await context.step('count', () => number)
        },
        { limits: { maxTotalWork: 8 } },
      ),
    )
    const log = await world.worker().ended(await world.orphan(1))
    expect(failureIn(log)).toMatchObject({ message: expect.stringContaining('has had 8 steps') as string })
    expect(log.filter(({ type }) => type === 'step.completed')).toHaveLength(8)
  })

  test('sequential work does not count as concurrent', async () => {
    const log = await run(
      subject(
        async function* (_, { step }) {
          for (let number = 0; number < 50; number++) await step('count', () => number)
          yield 'done'
        },
        { limits: { maxConcurrentWork: 2 } },
      ),
    )
    expect(log.at(-1)!.type).toBe('run.completed')
  })
})
