/** Agent objects of the AI SDK, the real `ToolLoopAgent` on a scripted model. */
import { Output, tool, ToolLoopAgent } from 'ai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { answeredElsewhere, answered, dataOf, logOf, PATIENCE_MS } from '../../../test/support/adapters.ts'
import { openNode, textOf, typesOf } from '../../../test/support/node.ts'
import { World } from '../../../test/support/world.ts'
import type { Component } from '../../core/ports/component.ts'
import { type ScriptedOutput, scriptedModel } from '../model/scripted/scripted.ts'
import { aiAgent } from './agent.ts'

type Settings = ConstructorParameters<typeof ToolLoopAgent>[0]

/** A model with one scripted text per turn. */
function turns(...scripted: ScriptedOutput[]): Settings['model'] {
  return scriptedModel({ script: ({ turn }) => scripted[Math.min(turn, scripted.length) - 1]! })
}

function subject(settings: object): Component {
  return aiAgent({ id: 'subject', agent: new ToolLoopAgent(settings as Settings) })
}

const call = (name: string, input: object = {}): ScriptedOutput => [{ type: 'tool', name, input }]

test('AI SDK agent: text, reasoning, sources, files and tokens are in the log, and its text is the output', async () => {
  const reply: ScriptedOutput = [
    { type: 'reasoning', text: 'let me see' },
    { type: 'source', url: 'https://example.com/', title: 'Example' },
    { type: 'file', mediaType: 'image/png', data: 'aGVsbG8=' },
    'Good day',
  ]
  const log = await logOf(subject({ model: turns(reply) }))
  expect(
    dataOf(log, 'reasoning.delta')
      .map(({ text }) => text)
      .join(''),
  ).toBe('let me see')
  expect(dataOf(log, 'source.cited')).toMatchObject([{ url: 'https://example.com/', title: 'Example' }])
  expect(dataOf(log, 'artifact.added')).toMatchObject([{ mediaType: 'image/png', bytes: 'aGVsbG8=' }])
  expect(textOf(log)).toBe('Good day')
  expect(dataOf(log, 'model.responded')).toMatchObject([{ model: 'scripted', finish: 'stop' }])
  const { output, usage } = dataOf(log, 'run.completed')[0]!
  expect(output).toBe('Good day')
  expect(usage?.outputTokens).toBeGreaterThan(0)
})

test('AI SDK agent: tools are logged with their results and failures, and the agent continues', async () => {
  const tools = {
    add: tool({ inputSchema: z.object({ a: z.number() }), execute: ({ a }) => a + 1 }),
    fall: tool({ inputSchema: z.object({}), execute: (): Promise<string> => Promise.reject(new Error('it fell')) }),
  }
  const log = await logOf(subject({ model: turns(call('add', { a: 1 }), call('fall'), 'done'), tools }))
  expect(dataOf(log, 'tool.called')).toMatchObject([{ name: 'add', input: { a: 1 } }, { name: 'fall' }])
  expect(dataOf(log, 'tool.completed')).toMatchObject([{ name: 'add', output: 2 }])
  expect(dataOf(log, 'tool.failed')).toMatchObject([{ name: 'fall', error: { message: 'it fell' } }])
  expect(dataOf(log, 'run.completed')).toMatchObject([{ output: 'done' }])
})

test('AI SDK agent: structured output is parsed by its schema', async () => {
  const output = Output.object({ schema: z.object({ city: z.string() }) })
  const log = await logOf(subject({ model: turns('{"city":"Bergen"}'), output }))
  expect(dataOf(log, 'run.completed')).toMatchObject([{ output: { city: 'Bergen' } }])
})

function careful(sent: number[]): Component {
  const send = tool({
    inputSchema: z.object({ amount: z.number() }),
    needsApproval: true,
    execute: ({ amount }) => sent.push(amount),
  })
  const model = scriptedModel({
    script: ({ results }) => (results.length === 0 ? call('send', { amount: 25 }) : 'done'),
  })
  return subject({ model, tools: { send } })
}

test.for([
  [true, [25], 'tool.completed'],
  [{ approved: false, reason: 'too much' }, [], 'tool.failed'],
] as const)('AI SDK agent: a tool that needs approval asks, and %j decides', async ([answer, expected, type]) => {
  const sent: number[] = []
  const log = await answered(careful(sent), answer)
  const [question] = dataOf(log, 'run.paused')[0]!.questions
  expect(question).toMatchObject({ kind: 'approval', details: { tool: 'send', input: { amount: 25 } } })
  expect(sent).toEqual(expected)
  expect(typesOf(log)).toContain(type)
})

test('[RUN-1] AI SDK agent: another process continues after a question, and repeats no model request', async () => {
  const sent: number[] = []
  const log = await answeredElsewhere(() => careful(sent), true)
  expect(sent).toEqual([25])
  expect(dataOf(log, 'run.completed')).toMatchObject([{ output: 'done' }])
  expect(dataOf(log, 'model.responded')).toHaveLength(2)
})

test('AI SDK agent: a tool without `execute` is executed by the caller', async () => {
  const tools = { locate: tool({ inputSchema: z.object({}), outputSchema: z.string() }) }
  const model = scriptedModel({
    script: ({ results }) => (results.length === 0 ? call('locate') : `in ${String(results[0]!.output)}`),
  })
  const log = await answered(subject({ model, tools }), 'Bergen')
  expect(dataOf(log, 'run.paused')[0]!.questions).toMatchObject([{ kind: 'tool', details: { tool: 'locate' } }])
  expect(dataOf(log, 'run.completed')).toMatchObject([{ output: 'in Bergen' }])
})

test('[RUN-3] AI SDK agent: a failing model fails the run, and its text stays', async () => {
  const model = scriptedModel({
    script() {
      throw new Error('no model today')
    },
  })
  const log = await logOf(subject({ model, maxRetries: 0 }))
  expect(dataOf(log, 'run.failed')).toMatchObject([{ error: { code: 'agent_failed', message: 'no model today' } }])
  expect(typesOf(log)).not.toContain('attempt.discarded')
})

test('[EVT-1] AI SDK agent: an unserializable result fails the run and names the value', async () => {
  const tools = { bad: tool({ inputSchema: z.object({}), execute: () => ({ deep: [() => 1] }) }) }
  const log = await logOf(subject({ model: turns(call('bad'), 'done'), tools }))
  const [{ error }] = dataOf(log, 'run.failed') as [{ error: { code: string; message: string } }]
  expect(error.code).toBe('unserializable')
  expect(error.message).toContain('data.output.deep[0] is a function')
})

test('[RUN-2] AI SDK agent: a stop reaches the running tool', async () => {
  let reported = false
  const wait = tool({
    inputSchema: z.object({}),
    execute: (_, { abortSignal }) =>
      new Promise((_resolve, reject) => {
        abortSignal!.addEventListener('abort', () => {
          reported = true
          reject(new Error('stopped'))
        })
      }),
  })
  const node = openNode({ components: [subject({ model: turns(call('wait'), 'done'), tools: { wait } })] })
  const id = await node.start('subject', 'hello')
  await node.emitted(id, 'tool.called')
  await node.stop(id)
  expect((await node.ended(id, PATIENCE_MS)).at(-1)?.type).toBe('run.cancelled')
  expect(reported).toBe(true)
})

/** Then hangs forever. */
async function* halfAnswer(): AsyncGenerator<string, void, void> {
  yield 'half '
  await new Promise(() => {})
}

const ends = [
  ['fail', ['run.failed', 'interrupted'], 'half '],
  ['resume', ['run.completed', undefined], 'half done'],
] as const

test('[RUN-1] AI SDK agent: a run whose process dies between two questions fails, or restarts if configured', async () => {
  for (const [recovery, end, reply] of ends) {
    let asked = 0
    const model = scriptedModel({ script: () => (++asked === 1 ? halfAnswer() : 'half done') })
    const component = aiAgent({ id: 'subject', agent: new ToolLoopAgent({ model }), recovery })
    const world = new World(component)
    const id = await world.orphan(1, 'hello')
    const log = await world.worker().ended(id, PATIENCE_MS)
    expect([log.at(-1)?.type, dataOf(log, 'run.failed')[0]?.error.code]).toEqual(end)
    expect(textOf(log)).toContain(reply)
  }
})
