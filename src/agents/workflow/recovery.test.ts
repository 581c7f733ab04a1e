/** Crashes between retries and after skipped steps: failed tries stay failed after a crash. */
import { describe, expect, test } from 'vitest'
import { Effects, has, logAfterCrash, resultOf, storyOf } from '../../../test/support/workflow-helpers.ts'
import { typesOf } from '../../../test/support/node.ts'
import { hangAtFirst } from '../../../test/support/world.ts'
import { agent } from '../agent.ts'
import { parallel, step, steps, workflow } from './index.ts'

describe('[RUN-1] workflow: after a crash', () => {
  test('attempts continue their count, and have their own calls', async () => {
    const effects = new Effects()
    const flaky = agent({
      id: 'flaky',
      async *run(_, context) {
        const time = effects.note('flaky')
        yield `try${time} `
        if (time === 1) throw new Error('flaky')
        await hangAtFirst(context)
        return time
      },
    })
    const flow = workflow({ id: 'w', steps: [step({ name: 's', run: flaky, retries: 1, retryDelayMs: 1 })] })
    const log = await logAfterCrash(flow, '', has('text try2 '))
    expect(resultOf(log)).toBe(3)
    expect(storyOf(log)).toEqual([
      'step.started s',
      'actor.started s',
      'text try1 ',
      'attempt.discarded',
      'actor.failed s',
      'step.failed s',
      'step.started s#2',
      'actor.started s#2',
      'text try2 ',
      'attempt.discarded',
      'text try3 ',
      'actor.completed s#2',
      'step.completed s#2',
    ])
  })

  test('a delay between two attempts is not restarted', async () => {
    let times = 0
    const tries = step({
      name: 's',
      retries: 1,
      retryDelayMs: 60_000,
      run(): number {
        if (++times === 1) throw new Error('not yet')
        return times
      },
    })
    const log = await logAfterCrash(workflow({ id: 'w', steps: [tries] }), '', has('step.failed s'))
    expect(resultOf(log)).toBe(2)
  })

  test('a skipped step stays skipped, inside a finished block and after it', async () => {
    const effects = new Effects()
    const fails = <const Name extends string>(name: Name) =>
      step({
        name,
        onError: 'skip',
        run: (_: string): string => {
          effects.note(name)
          throw new Error(`no ${name}`)
        },
      })
    const flow = workflow({
      id: 'w',
      steps: [steps('s', [effects.quick('a'), fails('b')]), fails('c'), effects.hanging('d'), fails('e')],
    })
    const log = await logAfterCrash(flow, '', has('step.started d'))
    expect(resultOf(log)).toBe('a1 d ')
    expect(effects.counts).toEqual({ a: 1, b: 1, c: 1, d: 2, e: 1 })
    expect(storyOf(log).filter((line) => line.startsWith('step.skipped'))).toEqual([
      'step.skipped s~/b',
      'step.skipped c',
      'step.skipped e',
    ])
    expect(typesOf(log)).not.toContain('attempt.discarded')
  })

  test('steps skipped in concurrent branches are replayed in another order, and logged once', async () => {
    const order: string[] = []
    const isSkipped = Promise.withResolvers<void>()
    const skips = <const Name extends string>(name: Name, after: Promise<void>) =>
      step({
        name,
        onError: 'skip',
        async run(): Promise<string> {
          await after
          order.push(name)
          isSkipped.resolve()
          throw new Error(`no ${name}`)
        },
      })
    const effects = new Effects()
    const block = parallel({
      name: 'p',
      branches: [skips('late', isSkipped.promise), skips('soon', Promise.resolve()), effects.hanging('hangs')],
    })
    const log = await logAfterCrash(
      workflow({ id: 'w', steps: [block] }),
      '',
      has('step.skipped p~/late', 'step.skipped p~/soon', 'step.started p~/hangs'),
    )
    expect(resultOf(log)).toEqual({ hangs: 'hangs ' })
    expect(order).toEqual(['soon', 'late'])
    const retracted = log.find((event) => event.type === 'attempt.discarded')
    const standing = log.slice((retracted?.index ?? -1) + 1)
    expect(
      storyOf(standing)
        .filter((line) => line.startsWith('step.skipped'))
        .toSorted(),
    ).toEqual(['step.skipped p~/late', 'step.skipped p~/soon'])
  })
})
