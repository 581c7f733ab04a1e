/** Questions of a run: pause, answer, timeout and stop. */
import { describe, expect, test } from 'vitest'
import { ManualClock, settle } from '../../../test/support/manual-clock.ts'
import { openNode, subject, textOf, typesOf, withoutHints } from '../../../test/support/node.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { overriding } from '../../testing/broken-stores.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { RunWriter } from '../../testing/fixtures.ts'
import { createEvent, type Emission, type RunContext } from '../ports/component.ts'
import type { Store } from '../ports/store.ts'

const asksOnce = subject(async function* (_, context) {
  yield 'a'
  yield `[${String(await context.ask('Go on?'))}]`
  yield 'b'
})

const asksTwice = subject(async function* (_, context) {
  const [left, right] = await Promise.all([context.ask('Left?'), context.ask({ prompt: 'Right?', kind: 'choice' })])
  yield `[${String(left)} ${String(right)}]`
})

/** A store that calls a function right before the next claim. */
class Racing {
  readonly store: Store
  beforeClaim: (() => Promise<void>) | undefined

  constructor(store: Store) {
    this.store = overriding(store, {
      claim: async (...parameters) => {
        const happens = this.beforeClaim
        this.beforeClaim = undefined
        await happens?.()
        return store.claim(...parameters)
      },
    })
  }
}

describe('[RUN-1] a run that asks', () => {
  test('pauses, and continues with the answer', async () => {
    const node = openNode({ components: [asksOnce] })
    const id = await node.start('subject')
    const { run, lease } = await node.reached(id, 'paused')
    expect(run.waiting).toEqual([{ id: 'question', kind: 'input', prompt: 'Go on?' }])
    expect(lease).toBeUndefined()
    await node.answer(id, { question: 'yes' })
    const log = await node.ended(id)
    expect(typesOf(log)).toEqual([
      'run.created',
      'run.started',
      'text.delta',
      'run.paused',
      'run.resumed',
      'text.delta',
      'text.delta',
      'run.completed',
    ])
    expect(log[4]!.data).toEqual({ answers: { question: 'yes' }, by: 'local' })
    expect(textOf(log)).toBe('a[yes]b')
  })

  test('asks concurrent questions together', async () => {
    const node = openNode({ components: [asksTwice] })
    const id = await node.start('subject')
    const { run } = await node.reached(id, 'paused')
    expect(run.waiting).toEqual([
      { id: 'question', kind: 'input', prompt: 'Left?' },
      { id: 'question#2', kind: 'choice', prompt: 'Right?' },
    ])
    await node.answer(id, { question: 1, 'question#2': 2 })
    expect(textOf(await node.ended(id))).toBe('[1 2]')
  })

  test('asks sequential questions one after the other', async () => {
    const node = openNode({
      components: [
        subject(async function* (_, context) {
          for (let turn = 0; turn < 3; turn++) yield String(await context.ask(`Turn ${turn}?`))
        }),
      ],
    })
    const id = await node.start('subject')
    for (const [turn, question] of ['question', 'question#2', 'question#3'].entries()) {
      const { run } = await node.reached(id, 'paused')
      expect(run.waiting).toEqual([{ id: question, kind: 'input', prompt: `Turn ${turn}?` }])
      await node.answer(id, { [question]: turn })
    }
    expect(textOf(await node.ended(id))).toBe('012')
  })

  test('may wait longer than the idle timeout', async () => {
    const clock = new ManualClock()
    const node = openNode({
      components: [asksOnce],
      clock,
      limits: { runIdleTimeoutMs: 1000, runTimeoutMs: 2000, pollIntervalMs: 60_000 },
    })
    const id = await node.start('subject')
    await node.reached(id, 'paused')
    await clock.pass(2500)
    await node.answer(id, { question: 'late' })
    expect(textOf(await node.ended(id))).toBe('a[late]b')
  })

  test('fails if no answer arrives in time', async () => {
    const node = openNode({
      components: [
        subject(async function* (_, context) {
          yield String(await context.ask({ prompt: 'Quick?', timeoutMs: 40 }))
        }),
      ],
    })
    const id = await node.start('subject')
    const { run } = await node.reached(id, 'paused')
    expect(run.wakeAt).toBe(Date.parse(run.waiting![0]!.deadline!))
    const log = await node.ended(id)
    const error = { code: 'deadline_exceeded', message: 'the question was not answered in time: Quick?' }
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error } })
  })

  test('accepts one of several concurrent answers', async () => {
    const node = openNode({ components: [asksOnce] })
    const id = await node.start('subject')
    await node.reached(id, 'paused')
    const answers = await Promise.allSettled([1, 2, 3].map((number) => node.answer(id, { question: number })))
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const log = await node.ended(id)
    expect(typesOf(log).filter((type) => type === 'run.resumed')).toHaveLength(1)
    expect(textOf(log)).toMatch(/^a\[[123]\]b$/)
  })
})

describe('an answer is rejected', () => {
  test('an answer to a run without an open question is rejected', async () => {
    const node = openNode({ components: [subject(async function* () {})] })
    const id = await node.start('subject')
    await node.ended(id)
    await expect(node.answer(id, { question: 1 })).rejects.toMatchObject({
      code: 'conflict',
      message: `run ${id} is completed and has no open question`,
    })
  })

  test.each([
    ['none of the questions is answered', {}, 'an answer to question, question#2 is missing'],
    ['one question is not answered', { question: 1 }, 'an answer to question#2 is missing'],
    ['there is no such question', { question: 1, 'question#2': 2, more: 3 }, 'there is no question more'],
    ['a property of all objects is answered', { question: 1, toString: 2 }, 'there is no question toString'],
  ])('an answer is rejected when %s', async (_, answers, problem) => {
    const node = openNode({ components: [asksTwice] })
    const id = await node.start('subject')
    await node.reached(id, 'paused')
    const refusal = { code: 'invalid_request', message: `${problem}; run ${id} asks: question, question#2` }
    await expect(node.answer(id, answers)).rejects.toMatchObject(refusal)
    expect((await node.get(id)).run.status).toBe('paused')
  })

  test('an answer that cannot be serialized is rejected, and the run keeps waiting', async () => {
    const node = openNode({ components: [asksOnce] })
    const id = await node.start('subject')
    await node.reached(id, 'paused')
    await expect(node.answer(id, { question: () => 1 })).rejects.toMatchObject({ code: 'invalid_request' })
    expect((await node.get(id)).run.status).toBe('paused')
    await node.answer(id, { question: 'then this' })
    expect(textOf(await node.ended(id))).toBe('a[then this]b')
  })

  test('an answer that is too large is rejected, and the run keeps waiting', async () => {
    const node = openNode({ components: [asksOnce], limits: { maxEventBytes: 500 } })
    const id = await node.start('subject')
    await node.reached(id, 'paused')
    await expect(node.answer(id, { question: 'x'.repeat(1000) })).rejects.toMatchObject({ code: 'invalid_request' })
    await node.answer(id, { question: 'short' })
    expect(textOf(await node.ended(id))).toBe('a[short]b')
  })

  test('an answer to a server that is shutting down is rejected', async () => {
    const store = createMemoryStore()
    const node = openNode({ store, components: [asksOnce] })
    const id = await node.start('subject')
    await node.reached(id, 'paused')
    await node.service.drain()
    await expect(node.answer(id, { question: 1 })).rejects.toMatchObject({ code: 'unavailable' })
    expect((await store.get(id))!.run.status).toBe('paused')
  })

  test('an answer that misses a question asked meanwhile leaves both questions open', async () => {
    const store = createMemoryStore()
    const racing = new Racing(store)
    const asked = Promise.withResolvers<void>()
    const node = openNode({
      store: racing.store,
      components: [
        subject(async function* (_, context) {
          const first = context.ask('First?')
          await asked.promise
          const answers = await Promise.all([first, context.ask('Second?')])
          yield `[${answers.join(' ')}]`
        }),
      ],
    })
    const id = await node.start('subject')
    await node.reached(id, 'paused')
    racing.beforeClaim = async () => {
      asked.resolve()
      await node.emitted(id, 'run.paused', 2)
    }
    await node.answer(id, { question: 1 }).catch(() => {})
    const { run } = await node.reached(id, 'paused')
    expect(run.waiting?.map((question) => question.id)).toEqual(['question', 'question#2'])
    await node.answer(id, { question: 1, 'question#2': 2 })
    expect(textOf(await node.ended(id))).toBe('[1 2]')
  })
})

describe('[RUN-1] a run with a question never hangs', () => {
  test('a run whose worker died after it accepted the answer ends as interrupted', async () => {
    const clock = createFakeClock()
    const store = createMemoryStore({ clock })
    const racing = new Racing(store)
    const node = openNode({ store: racing.store, components: [asksOnce], clock })
    const id = await node.start('subject')
    await node.reached(id, 'paused')
    racing.beforeClaim = async () => {
      const claimed = await store.claim(id, 'other', 60_000, { paused: true })
      const runWriter = new RunWriter(store, clock, claimed!, [])
      runWriter.append({ type: 'run.resumed', data: { answers: { question: 'other' } } })
      await runWriter.flush()
    }
    await expect(node.answer(id, { question: 'mine' })).rejects.toMatchObject({ code: 'conflict' })
    clock.advance(60_000)
    const log = await node.ended(id)
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { code: 'interrupted' } } })
  })

  test.each<[string, (context: RunContext) => Emission]>([
    ['returns', () => 'it did not'],
    ['emits run.completed', () => createEvent('run.completed', {})],
    ['rejects', (context) => context.reject('never mind')],
  ])('a run fails if its agent does not wait for the answer and %s', async (_, proceed) => {
    const node = openNode({
      components: [
        subject(async function* (_input, context) {
          void context.ask('Does it matter?')
          await settle() // until the question is in the log
          yield proceed(context)
        }),
      ],
    })
    const id = await node.start('subject')
    const log = await node.ended(id)
    const error = { code: 'protocol_violation', message: expect.stringMatching(/question/) as string }
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error } })
  })

  test('an answered run continues although every hint is lost', async () => {
    const store = createMemoryStore()
    const node = openNode({ store: withoutHints(store), components: [asksOnce] })
    const id = await node.start('subject')
    await node.reached(id, 'paused')
    await node.answer(id, { question: 'yes' })
    expect(textOf(await node.ended(id))).toBe('a[yes]b')
  })
})
