/** Loops, conditions and routers: chosen branches and logged events. */
import { describe, expect, test } from 'vitest'
import { logOf, resultOf, startOf, storyOf } from '../../../test/support/workflow-helpers.ts'
import { condition, loop, router, step, workflow } from './index.ts'

const upper = step({ name: 'upper', run: (input: string) => input.toUpperCase() })
const exclaim = step({ name: 'exclaim', run: async (input: string) => `${input}!` })

describe('workflow: a loop', () => {
  const longer = step({ name: 'longer', run: (input: string) => `${input}x` })

  test('repeats its body until its condition ends it', async () => {
    const block = loop({
      name: 'grow',
      body: longer,
      until: (output, { iteration }) => output.length > 3 || iteration > 5,
    })
    const log = await logOf(workflow({ id: 'w', steps: [block] }), 'a')
    expect(resultOf(log)).toBe('axxx')
    expect(storyOf(log).slice(0, 5)).toEqual([
      'step.started grow',
      'step.started grow~/iteration-1',
      'step.started grow~/iteration-1~/longer',
      'step.completed grow~/iteration-1~/longer',
      'step.completed grow~/iteration-1',
    ])
    expect(startOf(log, 'grow')).toMatchObject({ kind: 'loop', details: { index: 0, maxIterations: 10 } })
    expect(startOf(log, 'grow~/iteration-2')).toMatchObject({
      parent: 'grow',
      details: { iteration: 2, maxIterations: 10 },
    })
    expect(startOf(log, 'grow~/iteration-2~/longer')).toMatchObject({ parent: 'grow~/iteration-2' })
    const ends = log.flatMap((event) =>
      event.type === 'step.completed' && event.data.name.startsWith('iteration') ? [event.data.output] : [],
    )
    expect(ends).toEqual([
      { output: 'ax', done: false },
      { output: 'axx', done: false },
      { output: 'axxx', done: true },
    ])
  })

  test('ends after 10 iterations by default', async () => {
    const endless = loop({ name: 'l', body: longer, until: () => false })
    expect(resultOf(await logOf(workflow({ id: 'w', steps: [endless] }), ''))).toBe('x'.repeat(10))
    const three = loop({ name: 'l', body: longer, until: () => false, maxIterations: 3 })
    expect(resultOf(await logOf(workflow({ id: 'w', steps: [three] }), ''))).toBe('xxx')
  })

  test('a `while` loop checks its condition before the first iteration', async () => {
    const block = loop({ name: 'l', body: longer, while: (input) => input.length < 3 })
    const flow = workflow({ id: 'w', steps: [block] })
    expect(resultOf(await logOf(flow, 'a'))).toBe('axx')
    const log = await logOf(flow, 'abcd')
    expect(resultOf(log)).toBe('abcd')
    expect(storyOf(log)).toEqual([
      'step.started l~/decision',
      'step.completed l~/decision',
      'step.started l',
      'step.completed l',
    ])
  })
})

describe('workflow: a condition', () => {
  const long = condition({ name: 'long', when: (input) => input.length > 3, do: upper, else: exclaim })

  test.each([
    ['abcd', 'ABCD', true, 'do', 'long~/do~/upper'],
    ['abc', 'abc!', false, 'else', 'long~/else~/exclaim'],
  ])('the condition with input %s returns %s', async (input, output, result, branch, inner) => {
    const log = await logOf(workflow({ id: 'w', steps: [long] }), input)
    expect(resultOf(log)).toBe(output)
    expect(startOf(log, 'long')).toMatchObject({ kind: 'condition', details: { index: 0, result, branch } })
    expect(startOf(log, inner)).toMatchObject({ parent: 'long' })
    expect(startOf(log, 'long~/decision')).toMatchObject({ kind: 'function', details: { decides: 'long' } })
  })

  test('a condition without an else branch passes its input through', async () => {
    const never = condition({ name: 'never', when: () => false, do: upper })
    const log = await logOf(workflow({ id: 'w', steps: [never, exclaim] }), 'a')
    expect(resultOf(log)).toBe('a!')
    expect(startOf(log, 'never')).toMatchObject({ details: { result: false, branch: null } })
  })
})

describe('workflow: a router', () => {
  test('takes the chosen branch', async () => {
    const route = router({ name: 'route', choices: [upper, exclaim], choose: () => 'exclaim' as const })
    const log = await logOf(workflow({ id: 'w', steps: [route] }), 'a')
    expect(resultOf(log)).toBe('a!')
    expect(startOf(log, 'route')).toMatchObject({
      kind: 'router',
      details: { index: 0, selected: ['exclaim'], choices: ['upper', 'exclaim'] },
    })
    expect(startOf(log, 'route~/chosen~/exclaim')).toMatchObject({ parent: 'route' })
  })

  test('may take several branches, one after the other', async () => {
    const route = router({
      name: 'route',
      choices: [upper, exclaim],
      multiple: true,
      choose: () => ['exclaim', 'upper'] as const,
    })
    expect(resultOf(await logOf(workflow({ id: 'w', steps: [route] }), 'a'))).toBe('A!')
  })

  test.each([
    ['something else', 'other'],
    ['nothing', []],
    ['several where it may choose one', ['upper', 'exclaim']],
    ['one of them twice', ['upper', 'upper']],
  ])('a router that chooses %s fails', async (_, chosen) => {
    const route = router({ name: 'route', choices: [upper, exclaim], choose: () => chosen as 'upper' })
    const log = await logOf(workflow({ id: 'w', steps: [route] }), 'a')
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { message: /router route chose/ } } })
  })
})
