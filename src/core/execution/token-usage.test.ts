/** Token usage of a run and of each member, with nested calls and retracted output. */
import { describe, expect, test } from 'vitest'
import { logOf } from '../../../test/support/workflow-helpers.ts'
import { aborted, openNode, subject } from '../../../test/support/node.ts'
import { hangAtFirst, recovering, World } from '../../../test/support/world.ts'
import { agent } from '../../agents/agent.ts'
import { type Component, createEvent, type Emission } from '../ports/component.ts'
import type { EventData, LoggedEvent, Usage } from '../model/event.ts'

/** A model response that used `tokens` input tokens. */
function* spend(tokens: number, request = 'r'): Generator<Emission> {
  yield createEvent('model.requested', { request, model: 'm' })
  yield createEvent('model.responded', { request, model: 'm', usage: { inputTokens: tokens, outputTokens: 1 } })
}

function spender(id: string, tokens: number, ...called: Component[]): Component {
  return agent<unknown>({
    id,
    async *run(input, { call }) {
      for (const each of called) await call(each, input)
      yield* spend(tokens)
      return id
    },
  })
}

function usageOf(log: readonly LoggedEvent[]): Usage | undefined {
  return (log.at(-1)!.data as EventData['run.completed']).usage
}

function usageByActor(log: readonly LoggedEvent[]): [string, number | undefined][] {
  return log.flatMap((event): [string, number | undefined][] =>
    event.type === 'actor.completed' || event.type === 'actor.failed'
      ? [[event.actor!.component, event.data.usage?.inputTokens]]
      : [],
  )
}

describe('token usage', () => {
  test('a run reports its total, and a member the total of itself and those below it', async () => {
    const log = await logOf(
      spender('top', 1, spender('team', 10, spender('ann', 100), spender('bob', 1000)), spender('carl', 10_000)),
    )
    expect(usageByActor(log)).toEqual([
      ['ann', 100],
      ['bob', 1000],
      ['team', 1110],
      ['carl', 10_000],
    ])
    expect(usageOf(log)).toEqual({ inputTokens: 11_111, outputTokens: 5 })
  })

  test('is absent if nothing was used', async () => {
    const log = await logOf(
      subject(async function* () {
        yield 'for free'
      }),
    )
    expect(log.at(-1)!.data).toEqual({})
  })

  test('is reported for a run and a member that fail', async () => {
    const failing = agent<unknown>({
      id: 'failing',
      async *run() {
        yield* spend(5)
        throw new Error('no')
      },
    })
    const log = await logOf(
      subject(async function* (_, { call }) {
        await call(failing, null).catch(() => {})
        yield* spend(2)
        throw new Error('no')
      }),
    )
    expect(usageByActor(log)).toEqual([['failing', 5]])
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { usage: { inputTokens: 7 } } })
  })

  test('is reported for a stopped run', async () => {
    const node = openNode({
      components: [
        subject(async function* (_, { signal }) {
          yield* spend(3)
          await aborted(signal)
        }),
      ],
    })
    const id = await node.start('subject')
    await node.emitted(id, 'model.responded')
    await node.stop(id)
    const log = await node.ended(id)
    expect(log.at(-1)).toMatchObject({ type: 'run.cancelled', data: { usage: { inputTokens: 3 } } })
  })

  test('counts retracted output, which was paid for', async () => {
    const log = await logOf(
      subject(async function* (_, { stage, call }) {
        const failed = stage('failing', async function* () {
          yield* spend(4)
          throw new Error('no')
        })
        await failed.catch(() => {})
        const member = agent<unknown>({
          id: 'member',
          async *run() {
            yield* spend(30)
            throw new Error('no')
          },
        })
        await call(member, null, { retractFailure: true }).catch(() => {})
        yield* spend(500)
      }),
    )
    expect(log.filter(({ type }) => type === 'attempt.discarded')).toHaveLength(2)
    expect(usageOf(log)).toMatchObject({ inputTokens: 534 })
  })

  test('usage that a component declares at its end counts if it reported no model response', async () => {
    const declaring = (id: string, reports: boolean): Component =>
      agent<unknown>({
        id,
        async *run() {
          if (reports) yield* spend(7)
          yield createEvent('run.completed', { output: id, usage: { inputTokens: 7 } })
        },
      })
    const log = await logOf(
      subject(async function* (_, { call }) {
        await call(declaring('silent', false), null)
        await call(declaring('telling', true), null)
        yield createEvent('run.completed', { usage: { inputTokens: 100 } })
      }),
    )
    expect(usageByActor(log)).toEqual([
      ['silent', 7],
      ['telling', 7],
    ])
    expect(usageOf(log)).toMatchObject({ inputTokens: 114 })
  })

  test('usage that is not a number is ignored', async () => {
    const log = await logOf(
      subject(async function* () {
        yield createEvent('run.completed', { usage: { inputTokens: 'many', outputTokens: 2 } as never })
      }),
    )
    expect(usageOf(log)).toEqual({ outputTokens: 2 })
  })
})

describe('token usage after a crash', () => {
  const members = (hanging: Component): Component['run'] =>
    async function* (_, { call, stage }) {
      await stage('model', async function* () {
        yield* spend(1)
      })
      await call(spender('done', 10), null)
      await call(hanging, null)
      yield* spend(1000)
    }

  const hanging = agent<unknown>({
    id: 'hanging',
    async *run(_, context) {
      yield* spend(100)
      yield 'here'
      await hangAtFirst(context)
      yield* spend(100, 'r2')
    },
  })

  async function logAfterCrash(component: Component): Promise<LoggedEvent[]> {
    const world = new World(component)
    const first = world.worker()
    const id = await first.start('subject')
    await first.emitted(id, 'text.delta')
    world.kill()
    return world.worker().ended(id)
  }

  test('counts what the first attempt used and recorded once', async () => {
    const log = await logAfterCrash(recovering('resume', members(hanging)))
    expect(usageByActor(log)).toEqual([
      ['done', 10],
      ['hanging', 200],
    ])
    expect(usageOf(log)).toMatchObject({ inputTokens: 1211 })
  })

  test('counts a retracted attempt in addition to the new one', async () => {
    const log = await logAfterCrash(recovering('retry', members(hanging)))
    expect(usageOf(log)).toMatchObject({ inputTokens: 111 + 1211 })
  })
})
