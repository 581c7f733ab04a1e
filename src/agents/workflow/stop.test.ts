/** A stop reaches every kind of workflow block. */
import { describe, expect, test } from 'vitest'
import { aborted, openNode, typesOf } from '../../../test/support/node.ts'
import { parallel, step, steps, workflow } from './index.ts'

describe('[RUN-2] workflow: a stop', () => {
  test('reaches every branch of a parallel block', async () => {
    const received: string[] = []
    const waits = (name: string, attempts: number) =>
      step({
        name,
        onError: 'skip',
        retries: attempts - 1,
        retryDelayMs: 1,
        run: (_: unknown, { signal }) => aborted(signal).finally(() => received.push(name)),
      })
    const talks = step({
      name: 'talks',
      async *run(_: unknown, { signal }) {
        yield 'a'
        await aborted(signal).finally(() => received.push('talks'))
      },
    })
    const block = parallel({ name: 'p', branches: [waits('a', 1), steps('b', [waits('c', 3)]), talks] })
    const node = openNode({ components: [workflow({ id: 'w', steps: [block] })] })
    const id = await node.start('w')
    await node.emitted(id, 'text.delta')
    await node.emitted(id, 'step.started', 5)
    await node.stop(id)
    const log = await node.ended(id)
    expect(typesOf(log).slice(-2)).toEqual(['stop.requested', 'run.cancelled'])
    expect(received.toSorted()).toEqual(['a', 'c', 'talks'])
    expect(typesOf(log).filter((type) => type === 'step.failed' || type === 'step.skipped')).toEqual([])
  })

  test('ends the delay between two attempts', async () => {
    const fails = step({
      name: 'fails',
      retries: 1,
      retryDelayMs: 60_000,
      run: () => Promise.reject(new Error('no')),
    })
    const node = openNode({ components: [workflow({ id: 'w', steps: [fails] })] })
    const id = await node.start('w')
    await node.emitted(id, 'step.failed')
    await node.stop(id)
    expect((await node.ended(id)).at(-1)!.type).toBe('run.cancelled')
  })
})
