/** Failing steps: retry, timeout, skip, or a question to a person. */
import { describe, expect, test } from 'vitest'
import { failureOf, logOf, resultOf, startOf, storyOf } from '../../../test/support/workflow-helpers.ts'
import { openNode, textOf } from '../../../test/support/node.ts'
import { World } from '../../../test/support/world.ts'
import type { Component } from '../../core/ports/component.ts'
import { agent } from '../agent.ts'
import { parallel, step, steps, workflow } from './index.ts'

/** Fails `failures` times, then returns the number of tries. */
function flaky(failures: number): () => number {
  let times = 0
  return () => {
    if (++times <= failures) throw new RangeError(`failure ${times}`)
    return times
  }
}

describe('workflow: a step with retries', () => {
  test('has a step of its own for every attempt', async () => {
    const tries = step({ name: 's', run: flaky(2), retries: 2, retryDelayMs: 1 })
    const log = await logOf(workflow({ id: 'w', steps: [tries] }))
    expect(resultOf(log)).toBe(3)
    expect(storyOf(log)).toEqual([
      'step.started s',
      'step.failed s',
      'step.started s#2',
      'step.failed s#2',
      'step.started s#3',
      'step.completed s#3',
    ])
    expect(startOf(log, 's#2')).toMatchObject({ name: 's', details: { index: 0, attempt: 2, attempts: 3 } })
  })

  test('retracts the output of a failed attempt', async () => {
    const work = flaky(1)
    const tries = step({
      name: 's',
      retries: 1,
      retryDelayMs: 1,
      async *run() {
        yield 'a'
        const times = work()
        yield 'b'
        return times
      },
    })
    const log = await logOf(workflow({ id: 'w', steps: [tries] }))
    expect(resultOf(log)).toBe(2)
    expect(textOf(log)).toBe('ab')
    const discarded = log.find((event) => event.type === 'attempt.discarded')
    expect(discarded).toMatchObject({ actor: { run: `${log[0]!.run}/s` }, data: { scope: 'below', ledger: 'kept' } })
  })

  test('fails with its last failure and its position when all attempts failed', async () => {
    const tries = step({ name: 's', run: flaky(5), retries: 1, retryDelayMs: 1 })
    const log = await logOf(workflow({ id: 'w', steps: [steps('in', [tries])] }))
    expect(failureOf(log)).toMatchObject({
      code: 'agent_failed',
      message: 'failure 2',
      details: { step: 'in~/s', type: 'RangeError' },
    })
    expect(storyOf(log).slice(-2)).toEqual(['step.failed in~/s#2', 'step.failed in'])
  })

  test('waits longer each time, up to a limit', async () => {
    const times: number[] = []
    const tries = step({
      name: 's',
      retries: 3,
      retryDelayMs: 20,
      maxRetryDelayMs: 40,
      run() {
        times.push(performance.now())
        if (times.length < 4) throw new Error('no')
      },
    })
    await logOf(workflow({ id: 'w', steps: [tries] }))
    const waits = times.slice(1).map((time, index) => time - times[index]!)
    // Timers may be a millisecond early.
    expect(waits.map((wait, index) => wait >= [18, 38, 38][index]!)).toEqual([true, true, true])
  })

  test('is not retried when it rejects', async () => {
    let times = 0
    const refuses = step({
      name: 's',
      retries: 2,
      retryDelayMs: 1,
      run: (_: unknown, context) => (times++, context.reject('not this one')),
    })
    const log = await logOf(workflow({ id: 'w', steps: [refuses] }))
    expect(log.at(-1)).toMatchObject({ type: 'run.rejected', data: { reason: 'not this one' } })
    expect(times).toBe(1)
  })
})

describe('workflow: an attempt that times out', () => {
  test.each<[string, Component<string> | ((input: string) => Promise<string>)]>([
    ['a function', () => new Promise(() => {})],
    [
      'an agent',
      agent({
        id: 'slow',
        async *run() {
          yield 'a'
          await new Promise(() => {})
        },
      }),
    ],
  ])('fails, whether it is %s that obeys its signal or not', async (_, run) => {
    const slow = step({ name: 's', timeoutMs: 20, run: run as Component<string> })
    const log = await logOf(workflow({ id: 'w', steps: [slow] }), '')
    expect(failureOf(log)).toMatchObject({ code: 'deadline_exceeded', message: /longer than 20 ms/ })
  })

  test('workflow: an attempt that timed out is retried', async () => {
    let times = 0
    const slow = step({
      name: 's',
      timeoutMs: 20,
      retries: 1,
      retryDelayMs: 1,
      run: () => (++times === 1 ? new Promise<number>(() => {}) : Promise.resolve(times)),
    })
    expect(resultOf(await logOf(workflow({ id: 'w', steps: [slow] })))).toBe(2)
  })
})

describe('workflow: a step that may be skipped', () => {
  const skipped = step({
    name: 'skipped',
    onError: 'skip',
    run(_: string): string {
      throw new Error('not today')
    },
  })
  const exclaim = step({
    name: 'exclaim',
    run: (input: string, { outputs }) => `${input}! ${Object.keys(outputs).join()}`,
  })

  test('passes on its input', async () => {
    const log = await logOf(workflow({ id: 'w', steps: [skipped, exclaim] }), 'a')
    expect(resultOf(log)).toBe('a! ')
    expect(storyOf(log)).toEqual([
      'step.started skipped',
      'step.failed skipped',
      'step.skipped skipped',
      'step.started exclaim',
      'step.completed exclaim',
    ])
    const event = log.find(({ type }) => type === 'step.skipped')
    expect(event).toMatchObject({ data: { step: 'skipped', name: 'skipped', reason: 'not today' } })
  })

  test('has no output in a parallel block', async () => {
    const block = parallel({ name: 'p', branches: [skipped, exclaim] })
    expect(resultOf(await logOf(workflow({ id: 'w', steps: [block] }), 'a'))).toEqual({ exclaim: 'a! ' })
  })

  test('retracts its output', async () => {
    const talks = step({
      name: 'talks',
      onError: 'skip',
      async *run() {
        yield 'half a sen'
        throw new Error('no more')
      },
    })
    expect(textOf(await logOf(workflow({ id: 'w', steps: [talks] })))).toBe('')
  })
})

function pausing(failures: number): Component {
  const work = flaky(failures)
  return workflow({
    id: 'w',
    steps: [step({ name: 's', onError: 'ask', run: work }), step({ name: 'end', run: (input) => ({ input }) })],
  })
}

describe('workflow: a failure with a human decision', () => {
  test('asks, and the step is retried', async () => {
    const node = openNode({ components: [pausing(2)] })
    const id = await node.start('w', 'given')
    const { run } = await node.reached(id, 'paused')
    expect(run.waiting).toEqual([
      {
        id: 's~/question',
        kind: 'choice',
        prompt: 'Step s failed: failure 1. Try it again, skip it, or fail?',
        schema: expect.anything() as unknown,
        details: {
          step: 's',
          name: 's',
          kind: 'function',
          index: 0,
          error: { code: 'agent_failed', message: 'failure 1', details: { type: 'RangeError' } },
          choices: ['retry', 'skip', 'fail'],
        },
      },
    ])
    await node.answer(id, { 's~/question': { action: 'retry' } })
    await node.reached(id, 'paused')
    await node.answer(id, { 's~/question#2': 'retry' })
    const log = await node.ended(id)
    expect(resultOf(log)).toEqual({ input: 3 })
    expect(storyOf(log).slice(0, 7)).toEqual([
      'step.started s',
      'step.failed s',
      'run.paused',
      'step.started s#2',
      'step.failed s#2',
      'run.paused',
      'step.started s#3',
    ])
  })

  test('asks, and the step is skipped', async () => {
    const node = openNode({ components: [pausing(1)] })
    const id = await node.start('w', 'given')
    await node.reached(id, 'paused')
    await node.answer(id, { 's~/question': { action: 'skip' } })
    const log = await node.ended(id)
    expect(resultOf(log)).toEqual({ input: 'given' })
    expect(storyOf(log)).toContain('step.skipped s')
  })

  test('asks, and the workflow fails', async () => {
    const node = openNode({ components: [pausing(1)] })
    const id = await node.start('w', 'given')
    await node.reached(id, 'paused')
    await node.answer(id, { 's~/question': 'fail' })
    expect(failureOf(await node.ended(id))).toMatchObject({ message: 'failure 1', details: { step: 's' } })
  })

  test('[RUN-1] asks, also when the worker that asked is dead', async () => {
    const world = new World(pausing(1))
    const first = world.worker()
    const id = await first.start('w', 'given')
    await first.reached(id, 'paused')
    world.kill()
    const second = world.worker()
    await second.answer(id, { 's~/question': 'retry' })
    const log = await second.ended(id)
    expect(resultOf(log)).toEqual({ input: 2 })
    expect(storyOf(log).filter((line) => line === 'run.paused')).toHaveLength(1)
  })
})
