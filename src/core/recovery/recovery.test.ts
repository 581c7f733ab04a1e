/** Recovery after a worker died: fail, retry or resume. */
import { describe, expect, test, vi } from 'vitest'
import { aborted, Connection, openNode, subject, textOf, typesOf } from '../../../test/support/node.ts'
import { hangAtFirst, recovered, recovering, World } from '../../../test/support/world.ts'
import type { Component } from '../ports/component.ts'

/** A component that fails at its first interruption. */
function failingAtOnce(): Component {
  return recovering(
    'resume',
    async function* (_, context) {
      yield 'a'
      await hangAtFirst(context)
    },
    { limits: { maxAttempts: 1 } },
  )
}

describe('[RUN-1] recovery: a run whose worker died', () => {
  test('fails with its output if its component’s recovery is fail', async () => {
    const component = recovering('fail', async function* (_, context) {
      yield 'a'
      await hangAtFirst(context)
    })
    const log = await recovered(component, 1)
    expect(typesOf(log)).toEqual(['run.created', 'run.started', 'text.delta', 'run.failed'])
    const error = { code: 'interrupted', message: 'the worker that executed the run died', retryable: true }
    expect(log.at(-1)!.data).toEqual({ error })
  })

  test('fails by default', async () => {
    const component = subject(async function* (_, context) {
      yield 'a'
      await hangAtFirst(context)
    })
    expect((await recovered(component, 1)).at(-1)).toMatchObject({ data: { error: { code: 'interrupted' } } })
  })

  test('restarts with recovery retry, and its output is retracted', async () => {
    const component = recovering('retry', async function* (_, context) {
      yield 'a'
      yield `[${context.attempt}]`
      await hangAtFirst(context)
      yield 'b'
    })
    const log = await recovered(component, 2)
    expect(typesOf(log)).toEqual([
      'run.created',
      'run.started',
      'text.delta',
      'text.delta',
      'attempt.discarded',
      'run.started',
      'text.delta',
      'text.delta',
      'text.delta',
      'run.completed',
    ])
    expect(log[4]!.data).toEqual({ attempt: 1, from: 2, scope: 'all', ledger: 'dropped', reason: 'interrupted' })
    expect(log[5]!.data).toEqual({ attempt: 2, suspect: { interruptions: 1, concurrency: 1 } })
    expect(textOf(log)).toBe('a[2]b')
  })

  test('resumes with recovery resume, and repeats no output', async () => {
    const replaying: boolean[] = []
    const component = recovering('resume', async function* (_, context) {
      for (const text of ['a', 'b', 'c']) {
        replaying.push(context.replaying)
        yield text
      }
      await hangAtFirst(context)
      replaying.push(context.replaying)
      yield 'd'
      return 'done'
    })
    const log = await recovered(component, 3)
    expect(typesOf(log)).toEqual([
      'run.created',
      'run.started',
      'text.delta',
      'text.delta',
      'text.delta',
      'run.started',
      'text.delta',
      'run.completed',
    ])
    expect(textOf(log)).toBe('abcd')
    expect(replaying).toEqual([false, false, false, true, true, true, false])
  })

  test('retracts the rest of its output when the new output differs', async () => {
    const component = recovering('resume', async function* (_, context) {
      yield 'a'
      yield `[${context.attempt}]`
      yield 'b'
      await hangAtFirst(context)
      yield 'c'
    })
    const log = await recovered(component, 3)
    expect(typesOf(log).slice(5)).toEqual([
      'run.started',
      'attempt.discarded',
      'text.delta',
      'text.delta',
      'text.delta',
      'run.completed',
    ])
    expect(log[6]!.data).toEqual({ attempt: 1, from: 3, scope: 'own', ledger: 'kept', reason: 'diverged' })
    expect(textOf(log)).toBe('a[2]bc')
  })

  test('retracts output that is not repeated', async () => {
    const component = recovering('resume', async function* (_, context) {
      yield 'a'
      if (context.attempt > 1) return
      yield 'b'
      await hangAtFirst(context)
    })
    const log = await recovered(component, 2)
    expect(typesOf(log).slice(4)).toEqual(['run.started', 'attempt.discarded', 'run.completed'])
    expect(textOf(log)).toBe('a')
  })

  test('resumes after an earlier retraction', async () => {
    const component = recovering('resume', async function* (_, { attempt, signal }) {
      yield 'a'
      yield `[${Math.min(attempt, 2)}]`
      if (attempt < 3) await aborted(signal)
      yield 'b'
    })
    const world = new World(component)
    const id = await world.orphan(2)
    const second = world.worker()
    await second.emitted(id, 'text.delta', 3)
    world.kill()
    const log = await world.worker().ended(id)
    expect(typesOf(log).slice(4)).toEqual([
      'run.started',
      'attempt.discarded',
      'text.delta',
      'run.started',
      'text.delta',
      'run.completed',
    ])
    expect(textOf(log)).toBe('a[2]b')
  })

  test('is counted by the node that took it over: as recovered, or as failed', async () => {
    for (const [recovery, counted] of [
      ['resume', { recovered: 1, failed: 0 }],
      ['fail', { recovered: 0, failed: 1 }],
    ] as const) {
      const world = new World(
        recovering(recovery, async function* (_, context) {
          yield 'a'
          await hangAtFirst(context)
        }),
      )
      const first = world.worker()
      const id = await first.start('subject')
      await first.emitted(id, 'text.delta', 1)
      expect(first.service.load()).toMatchObject({ recovered: 0, failed: 0 })
      world.kill()
      const second = world.worker()
      await second.ended(id)
      expect(second.service.load()).toMatchObject(counted)
    }
  })

  test.each(['retry', 'resume'] as const)(
    'fails permanently after the maximum of attempts, with recovery %s',
    async (recovery) => {
      const component = recovering(recovery, async function* (_, { attempt, signal }) {
        yield `[${attempt}]`
        await aborted(signal)
      })
      const world = new World(component)
      const first = world.worker()
      const id = await first.start('subject')
      await first.emitted(id, 'text.delta', 1)
      for (const attempt of [2, 3]) {
        world.kill()
        await world.worker().emitted(id, 'text.delta', attempt)
      }
      world.kill()
      const log = await world.worker().ended(id)
      const error = {
        code: 'interrupted',
        message:
          'the run was interrupted 3 times in a row without progress in between: the server log may say what ends the process; maxAttempts limits this',
        retryable: true,
      }
      expect(log.at(-1)!.data).toEqual({ error })
      expect(typesOf(log).filter((type) => type === 'run.started')).toHaveLength(3)
    },
  )

  test('may have its own maximum of attempts', async () => {
    expect((await recovered(failingAtOnce(), 1)).at(-1)!.data).toMatchObject({ error: { code: 'interrupted' } })
  })

  test('[RUN-2] is cancelled by a stop that is accepted while its log is read, although it would fail', async () => {
    const world = new World(failingAtOnce())
    const id = await world.orphan(1)
    const { store } = world
    const read = store.read.bind(store)
    vi.spyOn(store, 'read').mockImplementationOnce(async (...page) => {
      await store.requestStop(id, { at: new Date(world.clock.now()).toISOString(), reason: 'enough' })
      return read(...page)
    })
    expect((await world.worker().ended(id)).at(-1)).toMatchObject({ type: 'run.cancelled', data: { reason: 'enough' } })
  })

  test('fails when its component is no longer served', async () => {
    const world = new World(
      recovering('resume', async function* (_, context) {
        yield 'a'
        await hangAtFirst(context)
      }),
    )
    const id = await world.orphan(1)
    const log = await world.worker([subject(async function* () {}, { id: 'another' })]).ended(id)
    const error = { code: 'unsupported', message: 'component subject is no longer served' }
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error } })
  })

  test('is started if it had only been accepted', async () => {
    const component = subject(async function* (input) {
      yield String(input)
    })
    const world = new World(component)
    const connection = new Connection(world.store)
    const full = openNode({ components: [component], store: connection.store, limits: { maxConcurrentRuns: 0 } })
    const id = await full.start('subject', 'hello')
    connection.cut()
    const log = await world.worker().ended(id)
    expect(typesOf(log)).toEqual(['run.created', 'run.started', 'text.delta', 'run.completed'])
    expect(textOf(log)).toBe('hello')
  })

  test('[RUN-2] is cancelled if its worker did not carry out a stop', async () => {
    const world = new World(
      recovering('resume', async function* (_, context) {
        yield 'a'
        await hangAtFirst(context)
      }),
    )
    const id = await world.orphan(1)
    await world.store.requestStop(id, { at: world.clock.iso(), reason: 'enough', by: 'local' })
    const log = await world.worker().ended(id)
    expect(typesOf(log).slice(3)).toEqual(['stop.requested', 'run.cancelled'])
    expect(textOf(log)).toBe('a')
  })

  test('[RUN-2] keeps its output when it is stopped during replay', async () => {
    const replays = Promise.withResolvers<void>()
    const world = new World(
      recovering('resume', async function* (_, context) {
        yield 'a'
        if (context.attempt > 1) {
          replays.resolve()
          await aborted(context.signal)
        }
        yield 'b'
        await hangAtFirst(context)
      }),
    )
    const id = await world.orphan(2)
    const second = world.worker()
    await replays.promise
    await second.stop(id)
    const log = await second.ended(id)
    expect(log.at(-1)!.type).toBe('run.cancelled')
    expect(textOf(log)).toBe('ab')
  })
})
