/** Progress of tools: in order, bounded, and not expected again in a recovery. */
import { describe, expect, test } from 'vitest'
import { failureOf, logOf, resultOf } from '../../../test/support/workflow-helpers.ts'
import { openNode, subject, typesOf } from '../../../test/support/node.ts'
import { hangAtFirst, recovering, World } from '../../../test/support/world.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { overriding } from '../../testing/broken-stores.ts'
import type { ToolAttempt } from '../ports/component.ts'
import type { EventData, LoggedEvent } from '../model/event.ts'

function progressIn(log: readonly LoggedEvent[]): EventData['tool.progressed'][] {
  return log.flatMap((event) => (event.type === 'tool.progressed' ? [event.data] : []))
}

test('tool progress: events are between the call and its result, in order', async () => {
  const log = await logOf(
    subject(async function* (_, { tool }) {
      yield 'go'
      return tool({ name: 'copy', id: 'call_1', input: null }, async ({ progress }) => {
        void progress({ percent: 10 })
        await progress({ percent: 50 })
        await progress(undefined)
        return 'copied'
      })
    }),
  )
  expect(typesOf(log).slice(3)).toEqual([
    'tool.called',
    ...Array<string>(3).fill('tool.progressed'),
    'tool.completed',
    'run.completed',
  ])
  expect(progressIn(log)).toEqual([
    { call: 'call_1', output: { percent: 10 }, key: 'copy' },
    { call: 'call_1', output: { percent: 50 }, key: 'copy' },
    { call: 'call_1', output: null, key: 'copy' },
  ])
})

test('tool progress: concurrent tools are distinguished by their calls', async () => {
  const log = await logOf(
    subject(async function* (_, { tool }) {
      yield 'go'
      const work = async ({ key, progress }: ToolAttempt): Promise<void> => progress(key)
      await Promise.all(['a', 'b'].map((id) => tool({ name: 'copy', id, input: null }, work)))
    }),
  )
  expect(progressIn(log).map(({ call, key }) => [call, key])).toEqual([
    ['a', 'copy'],
    ['b', 'copy#2'],
  ])
})

test('tool progress: after the result it is ignored', async () => {
  const log = await logOf(
    subject(async function* (_, { tool, step }) {
      let late: ToolAttempt | undefined
      await tool({ name: 'copy', input: null }, (attempt) => void (late = attempt))
      await late!.progress('too late')
      await step('after', () => {})
      yield 'done'
    }),
  )
  expect(progressIn(log)).toEqual([])
  expect(log.at(-1)!.type).toBe('run.completed')
})

test('[EVT-1] tool progress: an unserializable value fails its tool, and the event is named', async () => {
  const log = await logOf(
    subject(async function* (_, { tool }) {
      yield 'go'
      await tool({ name: 'copy', input: null }, ({ progress }) => progress({ done: () => {} }))
    }),
  )
  expect(failureOf(log)).toMatchObject({
    code: 'unserializable',
    details: { event: 'tool.progressed', path: 'data.output.done' },
  })
})

describe('tool progress: a tool that does not wait', () => {
  test('uses no memory while the log is behind: newer progress replaces what was not written', async () => {
    const store = createMemoryStore()
    const slow = overriding(store, {
      writer: (id, claim) => {
        const writer = store.writer(id, claim)
        return new Proxy(writer, {
          get(target, property) {
            if (property === 'flush')
              return () => new Promise((resolve) => setTimeout(resolve, 5)).then(() => target.flush())

            const value: unknown = Reflect.get(target, property, target)
            return typeof value === 'function' ? value.bind(target) : value
          },
        })
      },
    })
    const flooding = subject(async function* (_, { tool }) {
      yield 'go'
      await tool({ name: 'copy', input: null }, async ({ progress }) => {
        for (let n = 0; n < 10_000; n++) void progress(n)
        await progress('last')
      })
    })
    const node = openNode({ components: [flooding], store: slow, limits: { maxPendingEvents: 20 } })
    const log = await node.ended(await node.start('subject'))
    const outputs = progressIn(log).map(({ output }) => output)
    expect(outputs.length).toBeLessThan(100)
    expect(outputs.at(-1)).toBe('last')
    const numbers = outputs.slice(0, -1) as number[]
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
  })
})

test('tool progress: a recovered run neither expects nor retracts it', async () => {
  let works = 0
  const component = recovering('resume', async function* (_, context) {
    yield 'a'
    const tool = { name: 'copy', input: null, idempotent: true }
    const done = await context.tool(tool, async ({ progress }) => {
      works++
      await progress('once')
      return 'done'
    })
    const cut = await context.tool(tool, async ({ progress }) => {
      await progress(`attempt ${context.attempt}`)
      await hangAtFirst(context)
      return 'cut'
    })
    yield 'b'
    return [done, cut]
  })
  const world = new World(component)
  const first = world.worker()
  const id = await first.start('subject')
  await first.emitted(id, 'tool.progressed', 2)
  world.kill()
  const log = await world.worker().ended(id)
  expect(resultOf(log)).toEqual(['done', 'cut'])
  expect(works).toBe(1)
  expect(progressIn(log).map(({ output }) => output)).toEqual(['once', 'attempt 1', 'attempt 2'])
  expect(typesOf(log)).not.toContain('attempt.discarded')
})
