/** Crashes in workflows: finished steps are not repeated and decisions are kept. */
import { describe, expect, test } from 'vitest'
import { Effects, has, logAfterCrash, resultOf, storyOf } from '../../../test/support/workflow-helpers.ts'
import { typesOf } from '../../../test/support/node.ts'
import { hangAtFirst, World } from '../../../test/support/world.ts'
import type { LoggedEvent } from '../../core/model/event.ts'
import { condition, loop, parallel, router, step, steps, workflow } from './index.ts'

function outputOf(log: readonly LoggedEvent[]): string[] {
  return storyOf(log).filter((line) => line.startsWith('text'))
}

describe('[RUN-1] workflow: after a crash', () => {
  test('a sequence continues with the first step without a result', async () => {
    const effects = new Effects()
    const flow = workflow({ id: 'w', steps: [effects.quick('a'), effects.hanging('b'), effects.quick('c')] })
    const log = await logAfterCrash(flow, '', has('step.started b'))
    expect(resultOf(log)).toBe('a1 b c1 ')
    expect(effects.counts).toEqual({ a: 1, b: 2, c: 1 })
    expect(storyOf(log)).toEqual([
      'step.started a',
      'step.completed a',
      'step.started b',
      'step.completed b',
      'step.started c',
      'step.completed c',
    ])
  })

  test('an interrupted agent continues in its text, and earlier output of others stays', async () => {
    const effects = new Effects()
    const flow = workflow({
      id: 'w',
      steps: [steps('first', [effects.talking('a')]), effects.talking('b'), effects.talking('c', true)],
    })
    const log = await logAfterCrash(flow, '', has('text c1 '))
    expect(resultOf(log)).toBe('a b c ')
    expect(effects.counts).toEqual({ a: 1, b: 1, c: 2 })
    expect(outputOf(log)).toEqual(['text a1 ', 'text a2 ', 'text b1 ', 'text b2 ', 'text c1 ', 'text c2 '])
    expect(typesOf(log)).not.toContain('attempt.discarded')
  })

  test('a parallel block resumes only unfinished branches', async () => {
    const effects = new Effects()
    const block = parallel({
      name: 'p',
      branches: [
        effects.quick('a'),
        effects.talking('b'),
        steps('c', [effects.quick('c1'), effects.hanging('c2')]),
        effects.talking('d', true),
      ],
    })
    const log = await logAfterCrash(
      workflow({ id: 'w', steps: [block, effects.quick('last')] as never }),
      '',
      has('step.completed p~/a', 'step.completed p~/b', 'step.started p~/c~/c2', 'text d1 '),
    )
    expect(effects.counts).toEqual({ a: 1, b: 1, c1: 1, c2: 2, d: 2, last: 1 })
    const output = log.flatMap((event) =>
      event.type === 'step.completed' && event.data.step === 'p' ? [event.data.output] : [],
    )
    expect(output).toEqual([{ a: 'a1 ', b: 'b ', c: 'c11 c2 ', d: 'd ' }])
    expect(outputOf(log).toSorted()).toEqual(['text b1 ', 'text b2 ', 'text d1 ', 'text d2 '])
    expect(typesOf(log)).not.toContain('attempt.discarded')
  })

  test('a finished block is not repeated, and its output is not retracted', async () => {
    const effects = new Effects()
    const block = parallel({ name: 'p', branches: [effects.talking('a'), steps('b', [effects.talking('b1')])] })
    const hang = step({ name: 'hang', run: (_: unknown, context) => hangAtFirst(context) })
    const log = await logAfterCrash(workflow({ id: 'w', steps: [block, hang] }), '', has('step.started hang'))
    expect(effects.counts).toEqual({ a: 1, b1: 1 })
    expect(typesOf(log)).not.toContain('attempt.discarded')
    expect(log.at(-1)!.type).toBe('run.completed')
  })

  test('a loop continues with its iteration, and repeats no decision', async () => {
    const effects = new Effects()
    const grow = step({
      name: 'grow',
      async run(input: number, context) {
        effects.note(`grow ${input}`)
        if (input === 2) await hangAtFirst(context)
        return input + 1
      },
    })
    const body = loop({ name: 'l', body: grow, until: (output) => (effects.note(`until ${output}`), output === 4) })
    const log = await logAfterCrash(workflow({ id: 'w', steps: [body] }), 0, has('step.started l~/iteration-3~/grow'))
    expect(resultOf(log)).toBe(4)
    expect(effects.counts).toEqual({
      'grow 0': 1,
      'grow 1': 1,
      'grow 2': 2,
      'grow 3': 1,
      'until 1': 1,
      'until 2': 1,
      'until 3': 1,
      'until 4': 1,
    })
  })

  test('a condition and a router take the same branch, whatever they would decide now', async () => {
    const effects = new Effects()
    const fickle = condition({
      name: 'fickle',
      when: () => effects.note('when') === 1,
      do: steps('one', [effects.quick('a'), effects.hanging('b')]),
      else: effects.quick('other'),
    })
    const lost = router({
      name: 'lost',
      choices: [effects.hanging('c'), effects.quick('d')],
      choose: () => (effects.note('choose') === 1 ? 'c' : 'd'),
    })
    const flow = workflow({ id: 'w', steps: [parallel({ name: 'p', branches: [fickle, lost] })] })
    const log = await logAfterCrash(
      flow,
      '',
      has('step.started p~/fickle~/do~/one~/b', 'step.started p~/lost~/chosen~/c'),
    )
    expect(resultOf(log)).toEqual({ fickle: 'a1 b ', lost: 'c ' })
    expect(effects.counts).toEqual({ when: 1, a: 1, b: 2, choose: 1, c: 2 })
  })

  test('a nested workflow continues with its first step without a result', async () => {
    const effects = new Effects()
    const inner = workflow({ id: 'inner', steps: [effects.quick('b'), effects.hanging('c')] })
    const flow = workflow({ id: 'w', steps: [effects.quick('a'), inner, effects.quick('d')] })
    const log = await logAfterCrash(flow, '', has('step.started inner/c'))
    expect(resultOf(log)).toBe('a1 b1 c d1 ')
    expect(effects.counts).toEqual({ a: 1, b: 1, c: 2, d: 1 })
  })

  test('a branch that ended while another one waited for an answer is not repeated', async () => {
    const effects = new Effects()
    const done = Promise.withResolvers<void>()
    const slow = step({
      name: 'slow',
      async run() {
        effects.note('slow')
        await done.promise
        return 'slow'
      },
    })
    const asks = step({ name: 'asks', confirm: 'Go on?', run: () => effects.note('asks') })
    const flow = workflow({ id: 'w', steps: [parallel({ name: 'p', branches: [slow, asks] })] })
    const world = new World(flow)
    const first = world.worker()
    const id = await first.start('w')
    await first.reached(id, 'paused')
    done.resolve()
    await first.emitted(id, 'step.completed')
    world.kill()
    const second = world.worker()
    await second.answer(id, { 'p~/asks~/question': true })
    expect(resultOf(await second.ended(id))).toEqual({ slow: 'slow', asks: 1 })
    expect(effects.counts).toEqual({ slow: 1, asks: 1 })
  })

  test('a workflow with its own recovery policy follows it', async () => {
    const effects = new Effects()
    const definition = { id: 'w', steps: [effects.quick('a'), effects.hanging('b')] } as const
    const failed = await logAfterCrash(workflow({ ...definition, recovery: 'fail' }), '', has('step.started b'))
    expect(failed.at(-1)).toMatchObject({ data: { error: { code: 'interrupted' } } })
    const retried = await logAfterCrash(workflow({ ...definition, recovery: 'retry' }), '', has('step.started b'))
    expect(resultOf(retried)).toBe('a3 b ')
    expect(effects.counts).toEqual({ a: 3, b: 3 })
  })
})
