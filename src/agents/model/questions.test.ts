/** Tools that need a person: approvals and results from the client, also after a crash while the run waits. */
import { tool } from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { TestNode } from '../../../test/support/node.ts'
import { World } from '../../../test/support/world.ts'
import type { Component } from '../../core/ports/component.ts'
import type { LoggedEvent, Question } from '../../core/model/event.ts'
import { modelAgent, type ModelAgentDefinition } from './agent.ts'
import { type ScriptedPart, scriptedModel } from './scripted/scripted.ts'

/** Calls the tools of the given parts, then reports their results. */
function asking(parts: ScriptedPart[], tools: ModelAgentDefinition['tools']): Component {
  const model = scriptedModel({
    script: ({ turn, results }) =>
      turn === 1
        ? parts
        : results.map(({ output, failed }) => `${failed ? 'no' : 'yes'}: ${String(output)}`).join('; '),
  })
  return modelAgent({ id: 'subject', model, ...(tools !== undefined && { tools }) })
}

/** Executes a run to its pause, optionally kills its worker there, and answers it. */
async function answered(
  component: Component,
  crash: boolean,
  answer: (question: Question) => unknown,
): Promise<{ log: LoggedEvent[]; questions: readonly Question[] }> {
  const world = new World(component)
  let node: TestNode = world.worker()
  const id = await node.start('subject', 'hello')
  const { run } = await node.reached(id, 'paused')
  if (crash) {
    world.kill()
    node = world.worker()
  }
  const questions = run.waiting!
  await node.answer(id, Object.fromEntries(questions.map((question) => [question.id, answer(question)])))
  return { log: await node.ended(id), questions }
}

function counted(needsApproval: boolean | (() => boolean)): {
  effects: unknown[]
  tools: ModelAgentDefinition['tools']
} {
  const effects: unknown[] = []
  const pay = tool({
    inputSchema: z.object({ amount: z.number() }),
    needsApproval,
    execute: ({ amount }) => effects.push(amount),
  })
  const look = tool({ inputSchema: z.object({}), execute: () => effects.push('look') })
  return { effects, tools: { pay, look } }
}

const PAY: ScriptedPart = { type: 'tool', name: 'pay', input: { amount: 5 } }
const LOOK: ScriptedPart = { type: 'tool', name: 'look' }

describe.each([
  ['in one process', false],
  ['across a crash', true],
])('model agent: an approval %s', (_, crash) => {
  test('a granted approval makes the call once, beside a call that needs no approval', async () => {
    const { effects, tools } = counted(true)
    const { log, questions } = await answered(asking([PAY, LOOK], tools), crash, () => true)
    expect(questions).toMatchObject([
      { kind: 'approval', details: { tool: 'pay', input: { amount: 5 }, call: 'call_1_1' } },
    ])
    expect(effects).toEqual(['look', 5])
    expect(log.at(-1)!.data).toMatchObject({ output: 'yes: 2; yes: 1' })
  })

  test.each<[string, unknown, RegExp]>([
    ['refused', false, /^no: the call was not approved$/],
    ['refused with a reason', { approved: false, reason: 'too much' }, /not approved: too much$/],
  ])('an approval that is %s is reported to the model, and nothing is executed', async (_case, answer, output) => {
    const { effects, tools } = counted(true)
    const { log } = await answered(asking([PAY], tools), crash, () => answer)
    expect(effects).toEqual([])
    expect((log.at(-1)!.data as { output: string }).output).toMatch(output)
    expect(log.find(({ type }) => type === 'tool.failed')!.data).toMatchObject({ error: { code: 'forbidden' } })
  })

  test('`needsApproval` may be a function, and its decision is recorded', async () => {
    let asked = 0
    const { effects, tools } = counted(() => ++asked === 1)
    const { log } = await answered(asking([PAY], tools), crash, () => false)
    expect(asked).toBe(1)
    expect(effects).toEqual([])
    expect(log.at(-1)!.data).toMatchObject({ output: 'no: the call was not approved' })
  })

  test('all approvals of a turn are requested together', async () => {
    const { effects, tools } = counted(true)
    const { questions } = await answered(asking([PAY, PAY, PAY], tools), crash, ({ id }) => id.startsWith('1.2'))
    expect(questions.map(({ id }) => id)).toEqual(['1.1~/question', '1.2~/question', '1.3~/question'])
    expect(effects).toEqual([5])
  })
})

describe.each([
  ['in one process', false],
  ['across a crash', true],
])('model agent: a tool that the caller executes %s', (_, crash) => {
  const locate = tool({ inputSchema: z.object({ who: z.string() }), outputSchema: z.object({ at: z.string() }) })
  const LOCATE: ScriptedPart = { type: 'tool', name: 'locate', input: { who: 'Ann' } }

  test('the answer is the result of the tool', async () => {
    const { log, questions } = await answered(asking([LOCATE], { locate }), crash, () => ({ at: 'home' }))
    expect(questions).toMatchObject([
      { kind: 'tool', details: { tool: 'locate', input: { who: 'Ann' } }, schema: { required: ['at'] } },
    ])
    const reported = log.filter(({ type }) => type.startsWith('tool.') && type !== 'tool.drafted')
    expect(reported.map(({ type }) => type)).toEqual(['tool.called', 'tool.completed'])
    expect(reported[1]!.data).toMatchObject({ call: 'call_1_1', output: { at: 'home' } })
  })

  test('an answer that does not fit the output schema fails the tool', async () => {
    const { log } = await answered(asking([LOCATE], { locate }), crash, () => ({ at: 5 }))
    expect((log.at(-1)!.data as { output: string }).output).toMatch(/^no: invalid result of tool locate/)
  })
})
