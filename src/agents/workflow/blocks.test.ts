/** Sequences, executors and parallel blocks: outputs and logged events. */
import { describe, expect, test } from 'vitest'
import { Crowd } from '../../../test/support/concurrency-meter.ts'
import { settle } from '../../../test/support/manual-clock.ts'
import { logOf, resultOf, startOf, storyOf } from '../../../test/support/workflow-helpers.ts'
import { agent } from '../agent.ts'
import { parallel, step, steps, workflow } from './index.ts'

const upper = step({ name: 'upper', run: (input: string) => input.toUpperCase() })
const exclaim = step({ name: 'exclaim', run: async (input: string) => `${input}!` })
const size = step({ name: 'size', run: (input: string) => input.length })

const echo = agent({
  id: 'echo',
  async *run(input) {
    yield `${input} `
    return input.repeat(2)
  },
})

describe('workflow: a sequence', () => {
  test('passes on the output of each step; the last is the output', async () => {
    const log = await logOf(workflow({ id: 'w', steps: [upper, exclaim, size] }), 'abc')
    expect(resultOf(log)).toBe(4)
    expect(storyOf(log)).toEqual([
      'step.started upper',
      'step.completed upper',
      'step.started exclaim',
      'step.completed exclaim',
      'step.started size',
      'step.completed size',
    ])
    expect(startOf(log, 'exclaim')).toMatchObject({ name: 'exclaim', kind: 'function', details: { index: 1 } })
  })

  test('can be nested, and knows earlier steps by name', async () => {
    const all = step({ name: 'all', run: (input: string, { outputs }) => ({ input, outputs }) })
    const log = await logOf(workflow({ id: 'w', steps: [upper, steps('inner', [exclaim, all])] }), 'a')
    expect(resultOf(log)).toEqual({ input: 'A!', outputs: { upper: 'A', exclaim: 'A!' } })
    expect(startOf(log, 'inner')).toMatchObject({ kind: 'sequence', details: { index: 1, count: 2 } })
    expect(startOf(log, 'inner')).not.toHaveProperty('parent')
    expect(startOf(log, 'inner~/exclaim')).toMatchObject({ parent: 'inner', details: { index: 0 } })
    expect(storyOf(log).slice(2)).toEqual([
      'step.started inner',
      'step.started inner~/exclaim',
      'step.completed inner~/exclaim',
      'step.started inner~/all',
      'step.completed inner~/all',
      'step.completed inner',
    ])
  })

  test('gives a function the context of its run', async () => {
    const facts = step({
      name: 'facts',
      run: (_: unknown, { runId, sessionId, owner, signal }) => [runId, sessionId, owner, signal.aborted],
    })
    const log = await logOf(workflow({ id: 'w', steps: [facts] }))
    const created = log[0]!
    expect(resultOf(log)).toEqual([
      created.run,
      (created.data as { session: string }).session,
      expect.any(String),
      false,
    ])
  })
})

describe('workflow: an executor', () => {
  test('can be a component, by itself or in a step', async () => {
    const log = await logOf(workflow({ id: 'w', steps: [echo, step({ name: 'again', run: echo })] }), 'a')
    expect(resultOf(log)).toBe('aaaa')
    expect(storyOf(log)).toEqual([
      'step.started echo',
      'actor.started echo',
      'text a ',
      'actor.completed echo',
      'step.completed echo',
      'step.started again',
      'actor.started again',
      'text aa ',
      'actor.completed again',
      'step.completed again',
    ])
    expect(startOf(log, 'again')).toMatchObject({ kind: 'agent', details: { component: 'echo' } })
  })

  test('can get another input than the step', async () => {
    const log = await logOf(
      workflow({ id: 'w', steps: [size, step({ name: 'echo', run: echo, input: (count: number) => `n${count}` })] }),
      'abc',
    )
    expect(resultOf(log)).toBe('n3n3')
  })

  test('can be a generator function, whose output has its own actor', async () => {
    const talk = step({
      name: 'talk',
      async *run(input: string, { outputs }) {
        yield `${input} `
        yield { type: 'custom.emitted', data: { name: 'seen', value: outputs } }
        return input.length
      },
    })
    const log = await logOf(workflow({ id: 'w', steps: [upper, talk] }), 'abc')
    expect(resultOf(log)).toBe(3)
    const text = log.find((event) => event.type === 'text.delta')
    expect(text?.actor).toMatchObject({ component: 'talk', run: `${log[0]!.run}/talk` })
    expect(log.find((event) => event.type === 'custom.emitted')?.data).toMatchObject({ value: { upper: 'ABC' } })
    expect(startOf(log, 'talk')).toMatchObject({ kind: 'function' })
  })

  test('can be another workflow, whose steps have ids below it', async () => {
    const inner = workflow({ id: 'inner', steps: [exclaim, steps('deep', [size])] })
    const log = await logOf(workflow({ id: 'w', steps: [upper, inner] }), 'abc')
    expect(resultOf(log)).toBe(4)
    expect(startOf(log, 'inner')).toMatchObject({ kind: 'workflow' })
    expect(startOf(log, 'inner/deep~/size')).toMatchObject({ parent: 'inner/deep' })
    expect(log.find((event) => event.type === 'actor.started')?.actor).toMatchObject({ kind: 'workflow' })
    expect(storyOf(log).slice(2, 5)).toEqual([
      'step.started inner',
      'actor.started inner',
      'step.started inner/exclaim',
    ])
  })

  test('a function that returns a generator fails with a hint', async () => {
    const wrapped = step({ name: 'wrapped', run: (input: string) => echo.run(input, {} as never) })
    const log = await logOf(workflow({ id: 'w', steps: [wrapped] }), 'a')
    expect(log.at(-1)).toMatchObject({ data: { error: { message: /make its `run` one itself/ } } })
  })
})

describe('workflow: a parallel block', () => {
  test('gives every branch the same input, and returns the outputs by name', async () => {
    const block = parallel({ name: 'both', branches: [upper, size, steps('more', [upper, exclaim])] })
    const join = step({
      name: 'join',
      run: (given: { upper: string; size: number; more: string }) => `${given.upper}${given.size}${given.more}`,
    })
    const log = await logOf(workflow({ id: 'w', steps: [block, join] }), 'ab')
    expect(resultOf(log)).toBe('AB2AB!')
    expect(startOf(log, 'both')).toMatchObject({ kind: 'parallel', details: { index: 0, count: 3 } })
    expect(startOf(log, 'both~/size')).toMatchObject({ parent: 'both', details: { index: 1 } })
    expect(startOf(log, 'both~/more~/upper')).toMatchObject({ parent: 'both~/more' })
    const story = storyOf(log)
    expect(story[0]).toBe('step.started both')
    expect(story.indexOf('step.completed both')).toBeGreaterThan(story.indexOf('step.completed both~/more'))
  })

  test('runs no more branches at once than its limit', async () => {
    const crowd = new Crowd(3)
    const branch = (name: string) => step({ name, run: () => crowd.join() })
    const branches = Array.from({ length: 7 }, (_, index) => branch(`b${index}`))
    await logOf(workflow({ id: 'w', steps: [parallel({ name: 'p', branches, maxConcurrentBranches: 3 })] }))
    expect(crowd.most).toBe(3)
  })

  test('fails with the first failed branch, and aborts the others', async () => {
    const reasons: string[] = []
    const isTalking = Promise.withResolvers<void>()
    const hangs = step({
      name: 'hangs',
      retries: 2,
      run: (_: unknown, { signal }) =>
        new Promise<string>((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reasons.push((signal.reason as Error).message)
            reject(signal.reason as Error)
          })
        }),
    })
    const talks = step({
      name: 'talks',
      async *run() {
        yield 'a'
        isTalking.resolve()
        await new Promise(() => {})
      },
    })
    const asks = step({ name: 'asks', confirm: 'Really?', run: () => 1 })
    const breaks = step({
      name: 'breaks',
      async run(): Promise<string> {
        await isTalking.promise
        await settle() // the other branches have begun
        throw new Error('broken')
      },
    })
    const block = parallel({ name: 'p', branches: [hangs, talks, asks, breaks] })
    const log = await logOf(workflow({ id: 'w', steps: [block] }))
    expect(log.at(-1)).toMatchObject({
      type: 'run.failed',
      data: { error: { code: 'agent_failed', message: 'broken', details: { step: 'p~/breaks' } } },
    })
    expect(reasons).toEqual(['aborted because branch breaks of the same block failed'])
    const story = storyOf(log)
    expect(story).toContain('actor.failed p~/talks')
    expect(story).toContain('step.failed p~/hangs')
    expect(story.at(-1)).toBe('step.failed p')
    expect(story).not.toContain('step.started p~/hangs#2')
  })
})
