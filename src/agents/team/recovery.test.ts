/** Recovery of teams: finished members are not called again, interrupted ones resume. */
import { tool } from 'ai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { aborted, typesOf } from '../../../test/support/node.ts'
import { hangAtFirst, World } from '../../../test/support/world.ts'
import type { Component } from '../../core/ports/component.ts'
import type { EventType, LoggedEvent } from '../../core/model/event.ts'
import { agent } from '../agent.ts'
import { modelAgent } from '../model/agent.ts'
import { type ScriptedPart, scriptedModel } from '../model/scripted/scripted.ts'
import { team, type TeamDefinition } from './team.ts'

function delegate(member: string, task: string): ScriptedPart {
  return { type: 'tool', name: 'delegate_task_to_member', input: { member, task } }
}

async function crashed(component: Component, type: EventType, count: number): Promise<LoggedEvent[]> {
  const world = new World(component)
  const first = world.worker()
  const id = await first.start('subject', 'go')
  await first.emitted(id, type, count)
  world.kill()
  return world.worker().ended(id)
}

function leading(
  members: readonly Component[],
  mode: TeamDefinition['mode'] = 'coordinate',
): {
  component: Component
  requests: number[]
} {
  const requests: number[] = []
  const model = scriptedModel({
    script({ turn, results, text }) {
      requests.push(turn)
      if (mode === 'broadcast') return text
      if (turn === 1) return members.map(({ id }) => delegate(id, 'x'))
      return results.map(({ output }) => String(output)).join(' ')
    },
  })
  return { component: team({ id: 'subject', members, mode, model }), requests }
}

/** One member finishes at once; the other is interrupted in the middle of its text. */
function quickAndSlow(): { members: Component[]; calls: string[] } {
  const calls: string[] = []
  const quick = agent<unknown>({
    id: 'quick',
    async *run(_, context) {
      calls.push(await context.step('work', () => 'quick'))
      yield 'quick '
      return 'Q'
    },
  })
  const slow = agent<unknown>({
    id: 'slow',
    async *run(_, context) {
      calls.push('slow')
      yield 'slow1 '
      await hangAtFirst(context)
      yield 'slow2 '
      return 'S'
    },
  })
  return { members: [quick, slow], calls }
}

test.each(['coordinate', 'broadcast'] as const)(
  '[RUN-1] team %s: after a crash only the interrupted member is resumed',
  async (mode) => {
    const { members, calls } = quickAndSlow()
    const { component, requests } = leading(members, mode)
    const log = await crashed(component, 'text.delta', 2)
    expect(calls).toEqual(['slow', 'quick', 'slow'])
    expect(requests).toEqual(mode === 'broadcast' ? [1] : [1, 2])
    const output = mode === 'broadcast' ? 'quick answered:\nQ\n\nslow answered:\nS' : 'Q S'
    expect(log.at(-1)).toMatchObject({ type: 'run.completed', data: { output } })
    expect(typesOf(log)).not.toContain('attempt.discarded')
    expect(typesOf(log)).not.toContain('run.paused')
  },
)

test('[RUN-1] team route: the answer of a member that finished before the crash is the answer', async () => {
  let calls = 0
  let hang = true
  const ann = agent<unknown>({
    id: 'ann',
    async *run() {
      return `answer ${++calls}`
    },
  })
  const model = scriptedModel({
    async script({ turn, signal }) {
      if (turn === 2 && hang) {
        hang = false
        await aborted(signal!)
      }
      return [delegate(turn === 1 ? 'nobody' : 'ann', 'x')]
    },
  })
  const component = team({ id: 'subject', members: [ann], mode: 'route', model })
  const log = await crashed(component, 'model.requested', 2)
  expect(log.at(-1)).toMatchObject({ type: 'run.completed', data: { output: 'answer 1' } })
})

/** A member that pays, with an approval, and a neighbour that has its work done while the other waits. */
function asking(): {
  component: Component
  effects: string[]
  requests: number[]
  goOn: PromiseWithResolvers<void>
} {
  const effects: string[] = []
  const proceed = Promise.withResolvers<void>()
  const pay = tool({
    inputSchema: z.object({}),
    needsApproval: true,
    execute: () => effects.push('paid') && 'paid',
  })
  const payer = modelAgent({
    id: 'payer',
    tools: { pay },
    model: scriptedModel({
      script: ({ turn, results }) => (turn === 1 ? [{ type: 'tool', name: 'pay' }] : String(results[0]!.output)),
    }),
  })
  const worker = agent<unknown>({
    id: 'worker',
    async *run(_, context) {
      await proceed.promise
      await context.step('work', () => effects.push('worked'))
      yield 'working '
      return 'worked'
    },
  })
  return { ...leading([payer, worker]), effects, goOn: proceed }
}

test.each([
  ['in one process', false],
  ['across a crash', true],
])('[RUN-1] team: a member may wait for an approval while another works, %s', async (_, crash) => {
  const { component, effects, requests, goOn: proceedNow } = asking()
  const world = new World(component)
  let node = world.worker()
  const id = await node.start('subject', 'go')
  await node.reached(id, 'paused')
  // The other member continues while the run waits.
  proceedNow.resolve()
  await node.emitted(id, 'actor.completed')
  if (crash) {
    world.kill()
    node = world.worker()
  }
  const { run } = await node.reached(id, 'paused')
  expect(run.waiting).toMatchObject([{ kind: 'approval', actor: { component: 'payer' } }])
  await node.answer(id, { [run.waiting![0]!.id]: true })
  const log = await node.ended(id)
  expect(effects).toEqual(['worked', 'paid'])
  expect(requests).toEqual([1, 2])
  expect(log.at(-1)).toMatchObject({ type: 'run.completed', data: { output: 'paid worked' } })
})
