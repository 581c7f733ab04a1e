/** Provider streams: missing finish reasons, truncated responses, provider-executed tools. */
import { type LanguageModel, tool } from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openNode, textOf } from '../../../test/support/node.ts'
import type { EventData, EventType, LoggedEvent } from '../../core/model/event.ts'
import { modelAgent, type ModelAgentDefinition } from './agent.ts'

type Model = Extract<LanguageModel, { specificationVersion: 'v4' }>
type Part = Awaited<ReturnType<Model['doStream']>>['stream'] extends ReadableStream<infer Each> ? Each : never
type Finish = Extract<Part, { type: 'finish' }>['finishReason']['unified']

/** A model that streams the parts of each request as they are; the last list is repeated. */
function streaming(...requests: Part[][]): { model: Model; prompts: unknown[] } {
  const prompts: unknown[] = []
  const model: Model = {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'parts',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('not used')),
    doStream: async ({ prompt }) => {
      const parts = requests[Math.min(prompts.length, requests.length - 1)]!
      prompts.push(prompt)
      return { stream: streamOf(parts) }
    },
  }
  return { model, prompts }
}

function streamOf(parts: readonly Part[]): ReadableStream<Part> {
  return new ReadableStream<Part>({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}

function text(scripted: string): Part[] {
  return [
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: scripted },
    { type: 'text-end', id: '0' },
  ]
}

function finish(unified: Finish): Part {
  const inputTokens = { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined }
  const outputTokens = { total: 2, text: 2, reasoning: undefined }
  return { type: 'finish', finishReason: { unified, raw: undefined }, usage: { inputTokens, outputTokens } }
}

async function logOf(model: LanguageModel, more: Partial<ModelAgentDefinition> = {}): Promise<LoggedEvent[]> {
  const node = openNode({ components: [modelAgent({ id: 'subject', model, retryDelayMs: 1, ...more })] })
  return node.ended(await node.start('subject', 'hello'))
}

function dataOf<Type extends EventType>(log: readonly LoggedEvent[], type: Type): EventData[Type][] {
  return log.filter((event) => event.type === type).map(({ data }) => data as EventData[Type])
}

describe('[RUN-3] model agent: a response is complete only with a finish reason of its provider', () => {
  test.each<[string, Part[], RegExp]>([
    ['one that just ends', text('half'), /ended before its response was complete/],
    ['one that was interrupted', [...text('half'), finish('interrupted')], /interrupted/],
    ['one that ended with an error', [...text('half'), finish('error')], /because of an error/],
  ])('%s is requested again, and finally fails the run', async (_, parts, message) => {
    const { model, prompts } = streaming(parts)
    const log = await logOf(model, { retries: 1 })
    expect(prompts).toHaveLength(2)
    expect(textOf(log)).toBe('')
    expect(log.at(-1)!.type).toBe('run.failed')
    expect(dataOf(log, 'run.failed')[0]!.error.message).toMatch(message)
    const again = await logOf(streaming(parts, [...text('whole'), finish('stop')]).model)
    expect(again.at(-1)).toMatchObject({ type: 'run.completed', data: { output: 'whole' } })
  })

  test('a tool call in a truncated response is not executed', async () => {
    let effects = 0
    const act = tool({ inputSchema: z.object({}), execute: () => ++effects })
    const call: Part = { type: 'tool-call', toolCallId: 'c1', toolName: 'act', input: '{}' }
    const { model } = streaming([call, finish('length')], [...text('sorry'), finish('stop')])
    const log = await logOf(model, { tools: { act } })
    expect(effects).toBe(0)
    expect(dataOf(log, 'tool.failed')).toMatchObject([{ call: 'c1', error: { message: /cut short \(length\)/ } }])
    expect(log.at(-1)!.data).toMatchObject({ output: 'sorry', usage: { inputTokens: 2, outputTokens: 4 } })
  })
})

/** A tool that the provider executes. */
function search(toolCallId: string): Part {
  const input = '{"q":"x"}'
  return { type: 'tool-call', toolCallId, toolName: 'search', input, providerExecuted: true, dynamic: true }
}

test('model agent: a provider-executed tool is logged with its result, and not executed here', async () => {
  const { model, prompts } = streaming([
    search('s1'),
    { type: 'tool-result', toolCallId: 's1', toolName: 'search', result: { hits: 3 }, dynamic: true },
    search('s2'),
    { type: 'tool-result', toolCallId: 's2', toolName: 'search', result: 'down', isError: true, dynamic: true },
    ...text('three'),
    finish('stop'),
  ])
  const log = await logOf(model)
  expect(prompts).toHaveLength(1)
  expect(dataOf(log, 'tool.called').map((data) => data.call)).toEqual(['s1', 's2'])
  expect(dataOf(log, 'tool.completed')).toEqual([{ call: 's1', name: 'search', output: { hits: 3 } }])
  expect(dataOf(log, 'tool.failed')).toMatchObject([{ call: 's2', error: { message: 'down' } }])
  expect(log.at(-1)!.data).toMatchObject({ output: 'three' })
})

test('model agent: a provider’s signatures are sent back with the next request', async () => {
  const signed = { test: { signature: 'abc' } }
  const again = tool({ inputSchema: z.object({}), execute: () => 'ok' })
  const { model, prompts } = streaming(
    [
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: 'hm' },
      { type: 'reasoning-end', id: 'r', providerMetadata: signed },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'again', input: '{}' },
      finish('tool-calls'),
    ],
    [...text('done'), finish('stop')],
  )
  await logOf(model, { tools: { again } })
  expect((prompts[1] as unknown[])[1]).toMatchObject({
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'hm', providerOptions: signed },
      { type: 'tool-call', toolCallId: 'c1' },
    ],
  })
})

test('model agent: a model of the previous interface version is accepted', async () => {
  const { model } = streaming([...text('old'), finish('stop')])
  const log = await logOf({ ...model, specificationVersion: 'v3' } as unknown as LanguageModel)
  expect(log.at(-1)!.data).toMatchObject({ output: 'old' })
})
