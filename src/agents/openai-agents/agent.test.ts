/** Agents of the OpenAI Agents SDK, the real package on a scripted model of its own interface. */
import { Agent, type Model, type ModelRequest, Runner, tool } from '@openai/agents'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { answered, answeredElsewhere, dataOf, logOf, PATIENCE_MS } from '../../../test/support/adapters.ts'
import { openNode, textOf, typesOf } from '../../../test/support/node.ts'
import { World } from '../../../test/support/world.ts'
import type { Component } from '../../core/ports/component.ts'
import { type OpenAiSdkAgent, openAiAgent } from './agent.ts'

type StreamEvent = ReturnType<Model['getStreamedResponse']> extends AsyncIterable<infer Event> ? Event : never
type Item = Extract<StreamEvent, { type: 'response_done' }>['response']['output'][number]
type Said = string | { readonly call: string; readonly input: object } | { readonly thought: string }

/** Says one thing a turn: a text, word by word, or a tool call. */
class ScriptedModel implements Model {
  readonly #script: (request: ModelRequest, turn: number) => Said | Promise<Said>
  asked = 0

  constructor(script: (request: ModelRequest, turn: number) => Said | Promise<Said>) {
    this.#script = script
  }

  async getResponse(): Promise<never> {
    throw new Error('it only streams')
  }

  async *getStreamedResponse(request: ModelRequest): AsyncGenerator<StreamEvent, void, void> {
    const turn = ++this.asked
    yield { type: 'response_started' }
    const scripted = await this.#script(request, turn)
    if (typeof scripted === 'string')
      for (const delta of scripted.match(/\S+\s*/g)!) yield { type: 'output_text_delta', delta }
    const usage = { inputTokens: 3, outputTokens: 4, totalTokens: 7 }
    yield {
      type: 'response_done',
      response: { id: `r${turn}`, usage, output: [itemOf(scripted, turn)] },
    }
  }
}

function itemOf(scripted: Said, turn: number): Item {
  if (typeof scripted === 'string')
    return {
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: scripted }],
    }
  if ('thought' in scripted) return { type: 'reasoning', content: [{ type: 'input_text', text: scripted.thought }] }
  return {
    type: 'function_call',
    callId: `c${turn}`,
    name: scripted.call,
    status: 'completed',
    arguments: JSON.stringify(scripted.input),
  }
}

const turns = (...reply: Said[]): ScriptedModel =>
  new ScriptedModel((_request, turn) => reply[Math.min(turn, reply.length) - 1]!)

const runner = new Runner({ tracingDisabled: true })

function subject(agent: OpenAiSdkAgent, more: object = {}): Component {
  return openAiAgent({ id: 'subject', agent, runner, ...more })
}

test('OpenAI Agents: text is streamed, tokens are counted, and the final output is the output', async () => {
  const log = await logOf(subject(new Agent({ name: 'Clerk', model: turns('Good day to you') })))
  expect(dataOf(log, 'text.delta').map(({ text }) => text)).toEqual(['Good ', 'day ', 'to ', 'you'])
  expect(dataOf(log, 'run.completed')).toMatchObject([
    { output: 'Good day to you', usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } },
  ])
})

const add = tool({
  name: 'add',
  description: 'adds one',
  parameters: z.object({ a: z.number() }),
  execute: ({ a }) => a + 1,
})

test('OpenAI Agents: tools are logged with their results', async () => {
  const agent = new Agent({ name: 'Clerk', model: turns({ call: 'add', input: { a: 1 } }, 'two'), tools: [add] })
  const log = await logOf(subject(agent))
  expect(dataOf(log, 'tool.called')).toEqual([{ call: 'c1', name: 'add', input: { a: 1 } }])
  expect(dataOf(log, 'tool.completed')).toMatchObject([{ call: 'c1', name: 'add', output: 2 }])
  expect(dataOf(log, 'run.completed')[0]).toMatchObject({ output: 'two', usage: { totalTokens: 14 } })
})

test('OpenAI Agents: a handoff is a step of another agent', async () => {
  const expert = new Agent({ name: 'Expert', model: turns('It is kelp') })
  const clerk = Agent.create({
    name: 'Clerk',
    model: turns({ call: 'transfer_to_Expert', input: {} }),
    handoffs: [expert],
  })
  const log = await logOf(subject(clerk))
  const agents = dataOf(log, 'step.started').filter(({ key }) => key === undefined)
  expect(agents.map(({ name, kind }) => [name, kind])).toEqual([
    ['Clerk', 'agent'],
    ['Expert', 'agent'],
  ])
  expect(dataOf(log, 'tool.completed')).toMatchObject([{ output: { agent: 'Expert' } }])
  expect(dataOf(log, 'run.completed')).toMatchObject([{ output: 'It is kelp' }])
})

function careful(sent: number[], model: ScriptedModel): Component {
  const send = tool({
    name: 'send',
    description: 'sends money',
    parameters: z.object({ amount: z.number() }),
    needsApproval: true,
    execute: ({ amount }) => {
      sent.push(amount)
      return 'sent'
    },
  })
  return subject(new Agent({ name: 'Clerk', model, tools: [send] }))
}

/** Determined by its input only: the same in every process. */
const sender = (): ScriptedModel =>
  new ScriptedModel(({ input }) =>
    JSON.stringify(input).includes('function_call_result') ? 'done' : { call: 'send', input: { amount: 25 } },
  )

test.for([
  [true, [25]],
  [{ approved: false, reason: 'too much' }, []],
] as const)('OpenAI Agents: a tool that needs approval asks, and %j decides', async ([answer, expected]) => {
  const sent: number[] = []
  const log = await answered(careful(sent, sender()), answer)
  expect(dataOf(log, 'run.paused')[0]!.questions).toMatchObject([
    { kind: 'approval', details: { tool: 'send', input: { amount: 25 } } },
  ])
  expect(sent).toEqual(expected)
  expect(dataOf(log, 'run.completed')).toMatchObject([{ output: 'done' }])
})

test('[RUN-1] OpenAI Agents: another process continues after a question, and repeats no model request', async () => {
  const sent: number[] = []
  const models: ScriptedModel[] = []
  const make = (): Component => {
    models.push(sender())
    return careful(sent, models.at(-1)!)
  }
  const log = await answeredElsewhere(make, true)
  expect(sent).toEqual([25])
  expect(models.reduce((sum, { asked }) => sum + asked, 0)).toBe(2)
  expect(dataOf(log, 'run.completed')).toMatchObject([{ output: 'done' }])
  expect(typesOf(log)).not.toContain('attempt.discarded')
})

test('[RUN-3] OpenAI Agents: a failing model, and an agent that exceeds its turns, fail the run', async () => {
  const model = new ScriptedModel(() => {
    throw new Error('no model today')
  })
  const failed = await logOf(subject(new Agent({ name: 'Clerk', model })))
  expect(dataOf(failed, 'run.failed')).toMatchObject([{ error: { message: 'no model today' } }])
  const agent = new Agent({ name: 'Clerk', model: turns({ call: 'add', input: { a: 1 } }), tools: [add] })
  const endless = await logOf(subject(agent, { maxTurns: 3 }))
  expect(dataOf(endless, 'run.failed')[0]!.error.message).toContain('Max turns (3) exceeded')
})

test('[EVT-1] OpenAI Agents: an unserializable result fails the run and names the value', async () => {
  const bad = tool({ name: 'bad', description: '', parameters: z.object({}), execute: () => ({ deep: () => 1 }) })
  const log = await logOf(
    subject(new Agent({ name: 'Clerk', model: turns({ call: 'bad', input: {} }, 'x'), tools: [bad] })),
  )
  const [{ error }] = dataOf(log, 'run.failed') as [{ error: { code: string; message: string } }]
  expect(error.code).toBe('unserializable')
  expect(error.message).toContain('data.output.deep is a function')
})

test('[RUN-2] OpenAI Agents: a stop ends the run, and no later text is logged', async () => {
  const { promise, resolve } = Promise.withResolvers<Said>()
  const model = new ScriptedModel((_request, turn) => (turn === 1 ? { call: 'add', input: { a: 1 } } : promise))
  const node = openNode({ components: [subject(new Agent({ name: 'Clerk', model, tools: [add] }))] })
  const id = await node.start('subject', 'hello')
  await node.emitted(id, 'tool.completed')
  await node.stop(id)
  resolve('too late')
  const log = await node.ended(id, PATIENCE_MS)
  expect([textOf(log), log.at(-1)?.type]).toEqual(['', 'run.cancelled'])
})

const ends = [
  ['fail', ['run.failed', 'interrupted'], ''],
  ['resume', ['run.completed', undefined], 'done'],
] as const

test('[RUN-1] OpenAI Agents: a run whose process dies between two questions fails, or restarts if configured', async () => {
  for (const [recovery, end, reply] of ends) {
    const model = new ScriptedModel((_request, turn) => (turn === 1 ? new Promise<Said>(() => {}) : 'done'))
    const world = new World(subject(new Agent({ name: 'Clerk', model }), { recovery }))
    const first = world.worker()
    const id = await first.start('subject', 'hello')
    await first.emitted(id, 'step.started', 2)
    world.kill()
    const log = await world.worker().ended(id, PATIENCE_MS)
    expect([log.at(-1)?.type, dataOf(log, 'run.failed')[0]?.error.code]).toEqual(end)
    expect(textOf(log)).toContain(reply)
  }
})
