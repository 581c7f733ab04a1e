/** Teams: delegation, the final response, and member failures reported to the leader. */
import { tool } from 'ai'
import { describe, expect, test } from 'vitest'
import { Crowd } from '../../../test/support/concurrency-meter.ts'
import { z } from 'zod'
import { aborted, openNode, typesOf } from '../../../test/support/node.ts'
import type { Component, RunContext } from '../../core/ports/component.ts'
import type { LoggedEvent } from '../../core/model/event.ts'
import { agent } from '../agent.ts'
import { modelAgent } from '../model/agent.ts'
import type { ScriptedCall } from '../model/scripted/scripted-call.ts'
import { type ScriptedOutput, type ScriptedPart, scriptedModel } from '../model/scripted/scripted.ts'
import { step, workflow } from '../workflow/index.ts'
import { team, type TeamDefinition } from './team.ts'

function delegate(member: string, task: string): ScriptedPart {
  return { type: 'tool', name: 'delegate_task_to_member', input: { member, task } }
}

/** Emits its task in capitals. */
function shouting(id: string): Component {
  return modelAgent({
    id,
    description: `shouts as ${id}`,
    model: scriptedModel({ script: ({ text }) => text.toUpperCase() }),
  })
}

/** Results of the tasks, in order. */
function reported({ results }: ScriptedCall): string {
  return results.map(({ failed, output }) => `${failed ? 'failed: ' : ''}${String(output)}`).join(' | ')
}

async function logOf(
  members: readonly Component[],
  script: (call: ScriptedCall) => ScriptedOutput,
  more: Partial<TeamDefinition> = {},
): Promise<LoggedEvent[]> {
  const subject = team({ id: 'subject', members, model: scriptedModel({ script }), ...more })
  const node = openNode({ components: [subject] })
  return node.ended(await node.start('subject', 'go'))
}

function outputOf(log: readonly LoggedEvent[]): unknown {
  expect(log.at(-1)!.type).toBe('run.completed')
  return (log.at(-1)!.data as { output?: unknown }).output
}

describe('team coordinate', () => {
  test('delegates tasks to several members at once, and answers with their results', async () => {
    const log = await logOf([shouting('ann'), shouting('bob')], (call) =>
      call.turn === 1 ? [delegate('ann', 'one'), delegate('bob', 'two'), delegate('ann', 'three')] : reported(call),
    )
    expect(outputOf(log)).toBe('ONE | TWO | THREE')
    const { run } = log[0]!
    const started = log.filter(({ type }) => type === 'actor.started').map(({ actor }) => actor)
    expect(started.toSorted((a, b) => a!.run.localeCompare(b!.run))).toEqual([
      { component: 'ann', run: `${run}/1.1~/ann`, parent: run, kind: 'agent' },
      { component: 'bob', run: `${run}/1.2~/bob`, parent: run, kind: 'agent' },
      { component: 'ann', run: `${run}/1.3~/ann`, parent: run, kind: 'agent' },
    ])
    const usage = log.filter(({ type }) => type === 'model.responded').map(({ actor }) => actor?.component ?? 'leader')
    expect(usage.toSorted()).toEqual(['ann', 'ann', 'bob', 'leader', 'leader'])
  })

  test('lists the members to the leader', async () => {
    const log = await logOf([shouting('ann')], ({ instructions }) => instructions, { instructions: 'Be brief.' })
    expect(outputOf(log)).toMatch(/- ann: shouts as ann\n\nBe brief\.$/)
  })

  test('gives the leader tools of its own', async () => {
    const now = tool({ inputSchema: z.object({}), execute: () => 'noon' })
    const log = await logOf(
      [shouting('ann')],
      (call) => (call.turn === 1 ? [{ type: 'tool', name: 'now' }, delegate('ann', 'hi')] : reported(call)),
      { tools: { now } },
    )
    expect(outputOf(log)).toBe('noon | HI')
  })

  test('uses the text of a plain agent as its answer', async () => {
    const says = agent({
      id: 'says',
      async *run(task) {
        yield 'you said '
        yield task
      },
    })
    const completes = agent({
      id: 'completes',
      async *run(task) {
        yield task
        yield { type: 'run.completed', data: {} }
      },
    })
    const log = await logOf([says, completes], (call) =>
      call.turn === 1 ? [delegate('says', 'hi'), delegate('completes', 'ho')] : reported(call),
    )
    expect(outputOf(log)).toBe('you said hi | ho')
  })

  test('rejects an unknown member, and more tasks than the limit', async () => {
    const log = await logOf(
      [shouting('ann')],
      (call) => {
        if (call.turn === 1) return [delegate('eve', 'x'), delegate('ann', 'one'), delegate('ann', 'two')]
        return call.turn === 2 ? [delegate('ann', 'three')] : reported(call)
      },
      { maxDelegations: 2 },
    )
    expect(outputOf(log)).toMatch(/^failed: invalid input.* \| ONE \| TWO \| failed: no further task can be delegated/s)
    expect(typesOf(log).filter((type) => type === 'actor.started')).toHaveLength(2)
  })

  test('runs no more members at once than the limit', async () => {
    const crowd = new Crowd(2)
    const slow = agent({
      id: 'slow',
      async *run() {
        await crowd.join()
        return 'done'
      },
    })
    const tasks = Array.from({ length: 6 }, () => delegate('slow', 'x'))
    await logOf([slow], (call) => (call.turn === 1 ? tasks : 'over'), { maxConcurrentMembers: 2 })
    expect(crowd.most).toBe(2)
  })

  test('can be nested', async () => {
    const inner = team({
      id: 'desk',
      members: [shouting('ann')],
      model: scriptedModel({ script: (call) => (call.turn === 1 ? [delegate('ann', call.text)] : reported(call)) }),
    })
    const log = await logOf([inner], (call) => (call.turn === 1 ? [delegate('desk', 'news')] : reported(call)))
    expect(outputOf(log)).toBe('NEWS')
    const { run } = log[0]!
    expect(log.find(({ actor }) => actor?.component === 'ann')!.actor).toMatchObject({
      run: `${run}/1.1~/desk/1.1~/ann`,
      parent: `${run}/1.1~/desk`,
    })
  })

  test('fails when its leader fails', async () => {
    const log = await logOf([shouting('ann')], () => {
      throw new Error('no leader')
    })
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { message: 'no leader' } } })
  })

  test('requires members, each with a unique id', () => {
    const model = scriptedModel({ script: () => '' })
    expect(() => team({ id: 't', members: [], model })).toThrow(TypeError)
    expect(() => team({ id: 't', members: [shouting('a'), shouting('a')], model })).toThrow(TypeError)
  })
})

describe('team route', () => {
  test("returns the member's answer, without further text of the leader", async () => {
    let requests = 0
    const script = (): ScriptedOutput => {
      requests++
      return [delegate('bob', 'hi'), delegate('ann', 'hi')]
    }
    const log = await logOf([shouting('ann'), shouting('bob')], script, { mode: 'route' })
    expect(outputOf(log)).toBe('HI')
    expect(requests).toBe(1)
    // One member finishes; the other is not called.
    expect(typesOf(log).filter((type) => type === 'actor.started')).toHaveLength(1)
    expect(log.find(({ type }) => type === 'actor.started')!.actor!.component).toBe('bob')
  })

  test('lets the leader pick another member when the first one fails', async () => {
    const fails = agent<unknown>({
      id: 'fails',
      async *run() {
        throw new Error('not mine')
      },
    })
    const log = await logOf([fails, shouting('ann')], ({ turn }) => [delegate(turn === 1 ? 'fails' : 'ann', 'hi')], {
      mode: 'route',
    })
    expect(outputOf(log)).toBe('HI')
  })
})

describe('team broadcast', () => {
  test('gives the task to all, and the leader combines their answers', async () => {
    const fails = agent<unknown>({
      id: 'fails',
      async *run() {
        throw new Error('not mine')
      },
    })
    const log = await logOf([shouting('ann'), fails, shouting('bob')], ({ text }) => text, { mode: 'broadcast' })
    expect(outputOf(log)).toBe('ann answered:\nGO\n\nfails failed: not mine\n\nbob answered:\nGO')
    const { run } = log[0]!
    const actors = log.filter(({ type }) => type === 'actor.started').map(({ actor }) => actor!.run)
    expect(actors).toEqual([`${run}/ann`, `${run}/fails`, `${run}/bob`])
  })
})

/** Ten ways in which tools of members fail, each with the leader's message about it. */
const troubles: readonly [string, (context: RunContext) => AsyncGenerator<string, unknown, void>, RegExp][] = [
  ['throws', (context) => working(context, () => { throw new Error('boom') }), /^failed: boom$/],
  ['rejects', (context) => working(context, () => Promise.reject(new RangeError('too far'))), /^failed: too far$/],
  ['throws a text', (context) => working(context, () => { throw 'plain' }), /^failed: plain$/],
  ['throws nothing', (context) => working(context, () => { throw undefined }), /^failed: undefined$/],
  ['gives what cannot be recorded', (context) => working(context, () => () => 1), /^failed: .*data\.output is a function/],
  ['gives a cycle', (context) => working(context, cycle), /^failed: .*cycle/],
  ['gives too much', (context) => working(context, () => 'x'.repeat(5_000_000)), /^failed: .*limit/],
  ['aborts itself', (context) => working(context, () => Promise.reject(new DOMException('gone', 'AbortError'))), /^failed: gone$/],
  ['refuses', async function* (context) { context.reject('not today') }, /^failed: not today$/],
  ['emits nonsense', async function* () { yield { type: 'nonsense' } as never }, /^failed: .*not an event/],
] // prettier-ignore

async function* working(context: RunContext, work: () => unknown): AsyncGenerator<string, unknown, void> {
  yield 'trying '
  return await context.tool({ name: 'act', input: null }, work)
}

function cycle(): unknown {
  const circle: { self?: unknown } = {}
  circle.self = circle
  return circle
}

describe('team in a session', () => {
  /** Roles of the messages in its prompt. */
  const roles = ({ prompt }: ScriptedCall): string =>
    prompt.flatMap(({ role }) => (role === 'system' ? [] : [role])).join(' ')

  test('the leader gets the earlier runs of the team, and its members do not', async () => {
    const notified: string[] = []
    const member = modelAgent({
      id: 'ann',
      model: scriptedModel({
        script(call) {
          notified.push(roles(call))
          return 'noted'
        },
      }),
    })
    const model = scriptedModel({ script: (call) => (call.turn === 1 ? [delegate('ann', 'note it')] : roles(call)) })
    const node = openNode({ components: [team({ id: 'subject', members: [member], model })] })
    const session = 'ses_team'
    const outputs: unknown[] = []
    for (const input of ['one', 'two'])
      outputs.push(outputOf(await node.ended(await node.start('subject', input, { session }))))
    expect(outputs).toEqual(['user assistant tool', 'user assistant user assistant tool'])
    expect(notified).toEqual(['user', 'user'])
  })
})

describe('team: token usage', () => {
  function tokensIn(log: readonly LoggedEvent[]): Record<string, number> {
    const sums: Record<string, number> = {}
    for (const event of log) {
      if (event.type !== 'model.responded') continue
      const name = event.actor?.component ?? 'subject'
      sums[name] = (sums[name] ?? 0) + event.data.usage!.totalTokens!
    }
    return sums
  }

  function toldIn(log: readonly LoggedEvent[]): Record<string, number> {
    const ends = log.flatMap((event) =>
      event.type === 'actor.completed' ? [[event.actor!.component, event.data.usage!.totalTokens!] as const] : [],
    )
    return Object.fromEntries(ends)
  }

  test.each(['coordinate', 'route', 'broadcast'] as const)(
    'a team that works by %s reports the sum of its members',
    async (mode) => {
      const inner = team({
        id: 'inner',
        members: [shouting('ann'), shouting('bob')],
        model: scriptedModel({ script: (call) => (call.turn === 1 ? [delegate('ann', 'say it twice')] : 'well said') }),
      })
      const log = await logOf(
        [inner],
        (call) => (call.turn === 1 && mode !== 'broadcast' ? [delegate('inner', 'go')] : 'ok'),
        {
          mode,
        },
      )
      const tokens = tokensIn(log)
      expect(toldIn(log)).toEqual({ ann: tokens['ann'], inner: tokens['inner']! + tokens['ann']! })
      const { usage } = log.at(-1)!.data as { usage: { totalTokens: number } }
      expect(usage.totalTokens).toBe(tokens['subject']! + tokens['inner']! + tokens['ann']!)
    },
  )

  test('a workflow reports the usage of the agents of its steps', async () => {
    const flow = workflow({
      id: 'subject',
      steps: [step({ name: 'shout', run: shouting('ann') }), shouting('bob')] as never,
    })
    const node = openNode({ components: [flow] })
    const log = await node.ended(await node.start('subject', 'go on'))
    const tokens = tokensIn(log)
    const { usage } = log.at(-1)!.data as { usage: { totalTokens: number } }
    expect(Object.keys(tokens)).toEqual(['ann', 'bob'])
    expect(toldIn(log)).toEqual(tokens)
    expect(usage.totalTokens).toBe(tokens['ann']! + tokens['bob']!)
  })
})

test('team: ten members whose tools fail in ten ways are reported to the leader, which continues', async () => {
  const members = troubles.map(([, run], number) =>
    agent<unknown>({ id: `m${number}`, run: (_, context) => run(context) }),
  )
  const tasks = members.map(({ id }) => delegate(id, 'work'))
  const log = await logOf(members, (call) => (call.turn === 1 ? tasks : JSON.stringify(reported(call).split(' | '))))
  const received = JSON.parse(outputOf(log) as string) as string[]
  expect(received).toHaveLength(10)
  for (const [number, [name, , message]] of troubles.entries()) expect(received[number], name).toMatch(message)
  expect(typesOf(log).filter((type) => type === 'actor.failed')).toHaveLength(10)
})

test('[EVT-1] team: an unserializable tool result fails the member instead of reaching its model', async () => {
  const bad = tool({ inputSchema: z.object({}), execute: () => () => 1 })
  let requests = 0
  const script = (): ScriptedOutput => {
    requests++
    return [{ type: 'tool', name: 'bad' }]
  }
  const member = modelAgent({ id: 'member', model: scriptedModel({ script }), tools: { bad } })
  const log = await logOf([member], (call) => (call.turn === 1 ? [delegate('member', 'x')] : reported(call)))
  expect(requests).toBe(1)
  expect(log.find(({ type }) => type === 'actor.failed')!.data).toMatchObject({ error: { code: 'unserializable' } })
  expect(outputOf(log)).toMatch(/^failed: .*is a function/)
})

test('[RUN-2] team: a stop reaches every member', async () => {
  const notified: string[] = []
  const members = ['ann', 'bob', 'cid'].map((id) =>
    agent<unknown>({
      id,
      async *run(_, { signal }) {
        yield id
        await aborted(signal).finally(() => notified.push(id))
      },
    }),
  )
  const inner = team({
    id: 'desk',
    members,
    model: scriptedModel({ script: () => [delegate('ann', 'x'), delegate('bob', 'x')] }),
  })
  const subject = team({
    id: 'subject',
    members: [inner, members[2]!],
    model: scriptedModel({ script: () => [delegate('desk', 'x'), delegate('cid', 'x')] }),
  })
  const node = openNode({ components: [subject] })
  const id = await node.start('subject', 'go')
  await node.emitted(id, 'text.delta', 3)
  await node.stop(id)
  expect((await node.ended(id)).at(-1)!.type).toBe('run.cancelled')
  expect(notified.toSorted()).toEqual(['ann', 'bob', 'cid'])
})
