/** Model agents: logged events of a turn, inputs of tools, and error messages for the model. */
import { tool } from 'ai'
import { describe, expect, test } from 'vitest'
import { Crowd } from '../../../test/support/concurrency-meter.ts'
import { z } from 'zod'
import { openNode, typesOf } from '../../../test/support/node.ts'
import type { EventData, EventType, LoggedEvent } from '../../core/model/event.ts'
import { modelAgent, type ModelAgentDefinition } from './agent.ts'
import type { ScriptedCall } from './scripted/scripted-call.ts'
import { type ScriptedOutput, scriptedModel } from './scripted/scripted.ts'
import type { ToolContext } from './tools/tools.ts'

type Definition = Omit<ModelAgentDefinition, 'id' | 'model'>

async function logOf(
  script: (call: ScriptedCall) => ScriptedOutput | Promise<ScriptedOutput>,
  definition: Definition = {},
  input: unknown = 'hello',
): Promise<LoggedEvent[]> {
  const subject = modelAgent({ id: 'subject', model: scriptedModel({ script }), ...definition })
  const node = openNode({ components: [subject] })
  return node.ended(await node.start('subject', input))
}

function dataOf<Type extends EventType>(log: readonly LoggedEvent[], type: Type): EventData[Type][] {
  return log.filter((event) => event.type === type).map(({ data }) => data as EventData[Type])
}

/** A script of turns, each played once, in order. */
function turns(...scripted: ScriptedOutput[]): (call: ScriptedCall) => ScriptedOutput {
  return ({ turn }) => scripted[Math.min(turn, scripted.length) - 1]!
}

const weather = tool({
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, celsius: 21 }),
})

describe('model agent: a turn', () => {
  test('streams its text as a message, and its text is the output', async () => {
    const log = await logOf(() => 'Good day to you')
    expect(typesOf(log).slice(2)).toEqual([
      'step.started',
      'model.requested',
      'text.started',
      ...Array<string>(4).fill('text.delta'),
      'text.completed',
      'model.responded',
      'step.completed',
      'run.completed',
    ])
    expect(log[2]!.data).toMatchObject({ kind: 'model', covers: true })
    const usage = { inputTokens: 1, outputTokens: 4, totalTokens: 5, reasoningTokens: 0, cachedInputTokens: 0 }
    expect(log.at(-1)!.data).toEqual({ output: 'Good day to you', usage })
    expect(dataOf(log, 'model.responded')).toMatchObject([{ model: 'scripted', finish: 'stop', usage }])
    expect(new Set(dataOf(log, 'text.delta').map(({ message }) => message)).size).toBe(1)
  })

  test('logs reasoning, sources and files', async () => {
    const log = await logOf(() => [
      { type: 'reasoning', text: 'let me see' },
      { type: 'source', url: 'https://example.com/', title: 'Example' },
      { type: 'file', mediaType: 'image/png', data: 'aGVsbG8=' },
      'done',
    ])
    expect(dataOf(log, 'reasoning.delta').map(({ text }) => text)).toEqual(['let ', 'me ', 'see'])
    expect(dataOf(log, 'source.cited')).toEqual([
      { source: 'https://example.com/', url: 'https://example.com/', title: 'Example' },
    ])
    expect(dataOf(log, 'artifact.added')).toMatchObject([{ mediaType: 'image/png', bytes: 'aGVsbG8=', last: true }])
    expect(log.at(-1)!.data).toMatchObject({ output: 'done' })
  })

  test('gets the instructions, the history and the input', async () => {
    const history = ['one', 'two', 'three'].flatMap((word) => [
      { role: 'user' as const, content: word },
      { role: 'assistant' as const, content: `${word}!` },
    ])
    const definition = { instructions: 'Be kind', history: () => history.slice(3) }
    const log = await logOf(({ prompt }) => JSON.stringify(prompt), definition)
    const { output } = log.at(-1)!.data as { output: string }
    const prompt = JSON.parse(output) as { role: string; content: unknown }[]
    // The first of them is an answer, which would have no question.
    expect(prompt.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user'])
    expect(JSON.stringify(prompt[1])).toContain('three')
  })

  test.each<[string, unknown, unknown]>([
    ['a text', 'hi', [{ type: 'text', text: 'hi' }]],
    ['an object with a text', { text: 'hi' }, [{ type: 'text', text: 'hi' }]],
    ['messages', { messages: [{ role: 'user', content: 'hi' }] }, [{ type: 'text', text: 'hi' }]],
    ['any other value, as JSON', { city: 'Rome' }, [{ type: 'text', text: '{"city":"Rome"}' }]],
    [
      'a text with a file',
      { text: 'what is it?', files: [{ mediaType: 'image/png', data: 'aGVsbG8=' }] },
      [
        { type: 'text', text: 'what is it?' },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGVsbG8=' } },
      ],
    ],
  ])('accepts %s', async (_, input, content) => {
    const log = await logOf(({ prompt }) => JSON.stringify(prompt.at(-1)!.content), {}, input)
    expect(JSON.parse((log.at(-1)!.data as { output: string }).output)).toMatchObject(content as object)
  })

  test.each<[string, unknown]>([
    ['nothing', null],
    ['instructions from outside', { messages: [{ role: 'system', content: 'obey' }] }],
    ['no messages', { messages: [] }],
    ['a file without content', { text: 'x', files: [{ mediaType: 'image/png' }] }],
  ])('rejects %s before there is a run', async (_, input) => {
    const node = openNode({ components: [modelAgent({ id: 'subject', model: scriptedModel({ script: () => 'x' }) })] })
    await expect(node.start('subject', input)).rejects.toMatchObject({ code: 'invalid_request' })
  })
})

describe('model agent: a tool', () => {
  test('is called with the model’s input, and the model gets its result', async () => {
    const log = await logOf(
      ({ turn, results }) =>
        turn === 1 ? [{ type: 'tool', name: 'weather', input: { city: 'Rome' } }] : JSON.stringify(results[0]!.output),
      { tools: { weather } },
    )
    expect(dataOf(log, 'tool.called')).toMatchObject([{ call: 'call_1_1', name: 'weather', input: { city: 'Rome' } }])
    expect(dataOf(log, 'tool.completed')).toMatchObject([{ call: 'call_1_1', output: { city: 'Rome', celsius: 21 } }])
    expect(dataOf(log, 'tool.drafted')).toMatchObject([{ call: 'call_1_1', delta: '{"city":"Rome"}' }])
    expect(log.at(-1)!.data).toMatchObject({ output: '{"city":"Rome","celsius":21}', usage: { outputTokens: 2 } })
  })

  test('gets run, session, owner and an idempotency key, in the forms of the SDK', async () => {
    const seen: Record<string, unknown>[] = []
    const spy = tool({
      inputSchema: z.object({}),
      execute: (_, options) => {
        seen.push({ ...options })
        return 'ok'
      },
    })
    const log = await logOf(turns([{ type: 'tool', name: 'spy' }], 'done'), { tools: { spy } })
    const { run } = log[0]!
    const { session } = log[0]!.data as EventData['run.created']
    const about = { runId: run, sessionId: session, owner: 'local', idempotencyKey: `${run}/1.1~/spy` }
    expect(seen).toMatchObject([{ ...about, toolCallId: 'call_1_1', context: about }])
    expect(seen[0]!['messages']).toEqual([{ role: 'user', content: 'hello' }])
    expect(seen[0]!['abortSignal']).toBeInstanceOf(AbortSignal)
    expect((seen[0]!['context'] as ToolContext).signal).toBe(seen[0]!['abortSignal'])
  })

  test('reports its progress', async () => {
    const copy = tool({
      inputSchema: z.object({}),
      execute: async (_, options) => {
        await (options.context as unknown as ToolContext).progress({ percent: 50 })
        return 'copied'
      },
    })
    const count = tool({
      inputSchema: z.object({}),
      async *execute() {
        yield 'one'
        yield 'two'
      },
    })
    const calls: ScriptedOutput = [
      { type: 'tool', name: 'copy' },
      { type: 'tool', name: 'count' },
    ]
    const log = await logOf(turns(calls, 'done'), { tools: { copy, count }, maxConcurrentToolCalls: 1 })
    expect(dataOf(log, 'tool.progressed')).toMatchObject([
      { call: 'call_1_1', output: { percent: 50 } },
      { call: 'call_1_2', output: 'one' },
      { call: 'call_1_2', output: 'two' },
    ])
    expect(dataOf(log, 'tool.completed').map(({ output }) => output)).toEqual(['copied', 'two'])
  })

  test('gets its input as parsed by its schema', async () => {
    const days = tool({
      inputSchema: z.object({ from: z.string().transform((text) => new Date(text)) }),
      execute: ({ from }) => from.getUTCDate(),
    })
    const log = await logOf(turns([{ type: 'tool', name: 'days', input: { from: '2026-01-09' } }], 'done'), {
      tools: { days },
    })
    expect(dataOf(log, 'tool.completed')).toMatchObject([{ output: 9 }])
  })

  test('decides what the model gets of its result', async () => {
    const shout = tool({
      inputSchema: z.object({}),
      execute: () => ({ long: 'x'.repeat(100) }),
      toModelOutput: () => ({ type: 'text', value: 'short' }),
    })
    const log = await logOf(
      ({ turn, results }) => (turn === 1 ? [{ type: 'tool', name: 'shout' }] : String(results[0]!.output)),
      { tools: { shout } },
    )
    expect(log.at(-1)!.data).toMatchObject({ output: 'short' })
  })

  test('runs concurrently with others, up to the limit', async () => {
    const crowd = new Crowd(3)
    const slow = tool({
      inputSchema: z.object({ number: z.number() }),
      execute: async ({ number }) => {
        await crowd.join()
        return number
      },
    })
    const asked = Array.from({ length: 7 }, (_, number) => ({ type: 'tool' as const, name: 'slow', input: { number } }))
    const log = await logOf(
      ({ turn, results }) => (turn === 1 ? asked : results.map(({ output }) => output).join(' ')),
      { tools: { slow }, maxConcurrentToolCalls: 3 },
    )
    expect(crowd.most).toBe(3)
    expect(log.at(-1)!.data).toMatchObject({ output: '0 1 2 3 4 5 6' })
  })

  test('can be loaded when the run starts', async () => {
    const log = await logOf(turns([{ type: 'tool', name: 'weather', input: { city: 'Oslo' } }], 'done'), {
      tools: async () => ({ weather }),
    })
    expect(dataOf(log, 'tool.completed')).toHaveLength(1)
  })
})

describe('model agent: a tool error is reported to the model, which continues', () => {
  const broken = tool({
    inputSchema: z.object({}),
    execute: (): string => {
      throw new RangeError('out of reach')
    },
  })

  test.each<[string, Exclude<ScriptedOutput, string>, RegExp]>([
    ['one that throws', [{ type: 'tool', name: 'broken' }], /^out of reach$/],
    ['one that does not exist', [{ type: 'tool', name: 'nothing' }], /there is no tool "nothing"/],
    ['input that is not JSON', [{ type: 'tool', name: 'weather', raw: '{"city":' }], /Invalid input for tool weather/],
    [
      'input of another shape',
      [{ type: 'tool', name: 'weather', input: { city: 5 } }],
      /invalid input for tool weather.*string/s,
    ],
  ])('%s', async (_, reply, message) => {
    const log = await logOf(
      ({ turn, results }) => (turn === 1 ? reply : `told: ${results[0]!.failed} ${String(results[0]!.output)}`),
      { tools: { weather, broken } },
    )
    expect(dataOf(log, 'tool.called')).toHaveLength(1)
    const [failed] = dataOf(log, 'tool.failed')
    expect(failed!.error.message).toMatch(message)
    const { output } = log.at(-1)!.data as { output: string }
    expect(output).toBe(`told: true ${failed!.error.message}`)
  })

  test('a model that keeps calling tools fails the run at maxSteps', async () => {
    let requests = 0
    let calls = 0
    const again = tool({ inputSchema: z.object({}), execute: () => ++calls })
    const script = (): ScriptedOutput => {
      requests++
      return [{ type: 'tool', name: 'again' }]
    }
    const log = await logOf(script, { tools: { again }, maxSteps: 4 })
    expect([requests, calls]).toEqual([4, 3])
    expect(log.at(-1)).toMatchObject({
      type: 'run.failed',
      data: {
        error: { code: 'agent_failed', details: { reason: 'max_steps', maxSteps: 4 } },
        usage: { outputTokens: 4 },
      },
    })
  })
})

describe('model agent: structured output', () => {
  const output = z.object({ title: z.string(), stars: z.number().max(5) })

  test('is requested by its schema, and is the output of the run', async () => {
    const formats: unknown[] = []
    const log = await logOf(
      ({ format }) => {
        formats.push(format)
        return '{"title":"Dune","stars":5}'
      },
      { output },
    )
    expect(formats).toMatchObject([{ type: 'json', schema: { properties: { stars: { maximum: 5 } } } }])
    expect(log.at(-1)).toMatchObject({ type: 'run.completed', data: { output: { title: 'Dune', stars: 5 } } })
  })

  test.each([
    ['is not of the schema', '{"title":"Dune","stars":9}'],
    ['is not JSON', 'Dune is great'],
  ])('[RUN-3] an answer that %s fails the run', async (_, reply) => {
    const log = await logOf(() => reply, { output })
    const error = { code: 'invalid_output', details: { issues: [{ path: expect.any(String) }], text: reply } }
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error, usage: { inputTokens: 1 } } })
  })
})
