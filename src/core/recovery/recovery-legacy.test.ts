/** Logs of older servers without scope and digest: recorded work is matched by name and number. */
import { expect, test } from 'vitest'
import { openNode, subject, textOf, typesOf } from '../../../test/support/node.ts'
import { hangAtFirst } from '../../../test/support/world.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { overriding } from '../../testing/broken-stores.ts'
import type { RunContext } from '../ports/component.ts'
import { HoldfastError } from '../model/errors.ts'
import type { LogWriter, Store } from '../ports/store.ts'

/** A store that keeps what an older server would have written, until it is cut off. */
function older(store: Store): { readonly store: Store; cut(): void } {
  let isCut = false
  const writer = (given: LogWriter): LogWriter =>
    new Proxy(given, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key, target)
        if (key !== 'append') return typeof value === 'function' ? (value.bind(target) as unknown) : value
        return (record: string, ...more: never[]) => {
          if (isCut) throw new HoldfastError('fenced', 'cut off')
          target.append(record.replace(/,"(?:within|digest)":"[^"]*"/g, '').replace(/,"work":\{.*?\}\}/, ''), ...more)
        }
      },
    })
  return {
    store: overriding(store, { writer: (...claim) => writer(store.writer(...claim)) }),
    cut: () => (isCut = true),
  }
}

const done: string[] = []
const work = (name: string) => (): string => (done.push(name), name)

async function* all(_: unknown, context: RunContext): AsyncGenerator<string> {
  const { step, tool, ask, call, sleep } = context
  await sleep(1)
  const member = subject(async function* () {
    yield 'm'
    return step('inside', work('inside'))
  })
  const results = [
    await step('a', work('a')),
    await step('outer', () => tool({ name: 't', input: 1 }, work('t in outer'))),
    await Promise.all([tool({ name: 'u', input: 1 }, work('u 1')), tool({ name: 'u', input: 2 }, work('u 2'))]),
    await call(member, 1),
    await ask('Go?'),
  ]
  yield JSON.stringify(results)
  await hangAtFirst(context)
  yield await step('a', work('a again'))
  yield await tool({ name: 'u', input: 3 }, work('u 3'))
}

const LEASE_MS = 150
const limits = { leaseMs: LEASE_MS }

test('[RUN-5] the log of an older server is recovered by its rules, and new work is recorded by the current ones', async () => {
  const clock = createFakeClock()
  const store = createMemoryStore({ clock })
  const component = subject(all, { recovery: 'resume', limits: { replayWaitMs: 50 } })
  const before = older(store)
  const first = openNode({ components: [component], store: before.store, clock, limits })
  const id = await first.start('subject')
  await first.reached(id, 'paused')
  await first.answer(id, { question: 'yes' })
  const written = await first.emitted(id, 'text.delta', 2)
  expect(JSON.stringify(written)).not.toMatch(/"(?:within|digest|work)"/)
  before.cut()
  clock.advance(LEASE_MS + 1)
  const log = await openNode({ components: [component], store, clock, limits }).ended(id)
  expect(typesOf(log)).not.toContain('attempt.discarded')
  expect(log.at(-1)!.type).toBe('run.completed')
  expect(textOf(log)).toBe('m["a","t in outer",["u 1","u 2"],"inside","yes"]a againu 3')
  expect(done).toEqual(['a', 't in outer', 'u 1', 'u 2', 'inside', 'a again', 'u 3'])
  const marked = log.flatMap((event) => (event.type === 'step.started' ? [[event.data.key, event.data.within]] : []))
  expect(marked).toEqual([
    ['a', undefined],
    ['outer', undefined],
    ['inside', undefined],
    ['a#2', ''],
  ])
})
