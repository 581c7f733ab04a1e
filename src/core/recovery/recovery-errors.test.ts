/** Caught errors are the same in every attempt. */
import { describe, expect, test } from 'vitest'
import { subject, textOf } from '../../../test/support/node.ts'
import { hangAtFirst, recovered, recovering } from '../../../test/support/world.ts'
import { type RunContext, WorkError } from '../ports/component.ts'

class Declined extends Error {
  override readonly name = 'Declined'
  readonly code = 'CARD_DECLINED'
  readonly data = { tries: 3, at: new Date(0) }
}

function decline(): never {
  throw new Declined('no money')
}

const kinds: [string, (context: RunContext) => Promise<unknown>][] = [
  ['step', ({ step }) => step('charge', decline)],
  [
    'stage',
    ({ stage }) =>
      stage('charge', async function* () {
        yield 'x'
        decline()
      }),
  ],
  ['tool', ({ tool }) => tool({ name: 'charge', input: 1 }, decline)],
  [
    'call',
    ({ call }) =>
      call(
        subject(async function* () {
          yield ''
          decline()
        }),
        1,
      ),
  ],
  ['step around a tool', ({ step, tool }) => step('outer', () => tool({ name: 'charge', input: 1 }, decline))],
]

describe('[RUN-5] errors of failed work', () => {
  test.each(kinds)('the error of a failed %s is the same in every attempt', async (_, work) => {
    const caught: unknown[] = []
    const component = recovering('resume', async function* (_input, context) {
      await work(context).catch((thrown: unknown) => caught.push(thrown))
      yield 'a'
      await hangAtFirst(context)
    })
    const log = await recovered(component, 1)
    expect(log.at(-1)!.type).toBe('run.completed')
    expect(caught).toHaveLength(2)
    for (const thrown of caught) {
      expect(thrown).toBeInstanceOf(WorkError)
      expect(thrown).toMatchObject({
        name: 'Declined',
        message: 'no money',
        code: 'CARD_DECLINED',
        data: { tries: 3, at: '1970-01-01T00:00:00.000Z' },
      })
    }
  })

  test.each(kinds.slice(0, 3))(
    'the error of a failed %s has the original as its cause, in the attempt where it was thrown',
    async (_, work) => {
      const causes: unknown[] = []
      const component = recovering('resume', async function* (_input, context) {
        await work(context).catch((thrown: unknown) => causes.push((thrown as Error).cause))
        yield 'a'
        await hangAtFirst(context)
      })
      await recovered(component, 1)
      expect(causes).toEqual([expect.any(Declined), undefined])
    },
  )

  test('a step that rejects the run rejects it in every attempt', async () => {
    const component = recovering('resume', async function* (_input, context) {
      yield 'a'
      try {
        await context.step('check', () => context.reject('not for you'))
      } finally {
        await hangAtFirst(context)
      }
    })
    const log = await recovered(component, 1)
    expect(log.at(-1)).toMatchObject({ type: 'run.rejected', data: { reason: 'not for you' } })
    expect(textOf(log)).toBe('a')
  })

  test.each<[string, Partial<Record<'code' | 'data', unknown>>]>([
    ['too large', { data: 'x'.repeat(100_000) }],
    ['a function', { data: () => {} }],
    ['a code that is not text', { code: {} }],
  ])('the error of a failed tool is reported although its message is %s', async (_, more) => {
    const component = recovering('resume', async function* (_input, { tool }) {
      yield 'a'
      await tool({ name: 't', input: 1 }, () => {
        throw Object.assign(new Error('out'), more)
      }).catch((thrown: WorkError) => expect(thrown).toMatchObject({ message: 'out', code: 'agent_failed' }))
      yield 'b'
    })
    expect(textOf(await recovered(component, 1))).toBe('ab')
  })
})
