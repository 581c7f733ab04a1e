/** Tools that the server executes: clients show them and do not execute them. */
import { createOpenAI } from '@ai-sdk/openai'
import { streamText } from 'ai'
import OpenAI from 'openai'
import OpenAI6 from 'openai-v6'
import { expect, test } from 'vitest'
import { agent } from '../../../src/agents/agent.ts'
import { framesIn, raw, serveOpenAi } from './serve.ts'

/** Calls two tools concurrently, one of which fails, and emits text meanwhile. */
const busy = agent({
  id: 'busy',
  async *run(_input, { tool }) {
    yield 'Searching. '
    const release = Promise.withResolvers<string>()
    const both = Promise.allSettled([
      tool({ name: 'search', id: 'c1', input: { query: 'kelp' } }, () => release.promise),
      tool({ name: 'lookup', id: 'c2', input: { key: 1 } }, () => Promise.reject(new Error('no such key'))),
    ])
    yield 'Meanwhile. '
    release.resolve('found')
    await both
    yield 'Done.'
  },
})

test.each([
  ['openai 7', OpenAI],
  ['openai 6', OpenAI6 as unknown as typeof OpenAI],
])('OpenAI: the helper of %s accepts concurrent tools, and has them in its output', async (_name, Client) => {
  const server = await serveOpenAi({ components: [busy] })
  const client = new Client({ baseURL: server.base, apiKey: 'none', maxRetries: 0 })
  const response = await client.responses.stream({ model: 'busy', input: 'go' }).finalResponse()
  expect(response.output_text).toBe('Searching. Meanwhile. Done.')
  const tools = response.output.filter((item) => item.type === 'mcp_call')
  expect(tools.toSorted((left, right) => (left.name < right.name ? -1 : 1))).toMatchObject([
    { name: 'lookup', arguments: '{"key":1}', output: null, error: 'no such key', status: 'failed' },
    { name: 'search', arguments: '{"query":"kelp"}', output: 'found', error: null, status: 'completed' },
  ])
  expect(new Set(response.output.map(({ id }) => id)).size).toBe(response.output.length)
})

test('OpenAI: the AI SDK gets the call and its result, and finishes with stop', async () => {
  const { base } = await serveOpenAi()
  const model = createOpenAI({ baseURL: base, apiKey: 'none' }).responses('lab')
  const parts: string[] = []
  const result = streamText({ model, prompt: 'text 1; tool search; text 1', maxRetries: 0 })
  for await (const { type } of result.fullStream) parts.push(type)
  expect(parts).toContain('tool-call')
  expect(parts).toContain('tool-result')
  expect(parts).not.toContain('tool-error')
  expect(await result.finishReason).toBe('stop')
})

test('OpenAI: the arguments of a call are streamed in pieces, then complete, and a new item has none', async () => {
  const server = await serveOpenAi()
  const { text } = await raw(server, '/v1/responses', { model: 'lab', input: 'tool search', background: true })
  const { id } = JSON.parse(text) as { readonly id: string }
  const client = new OpenAI({ baseURL: server.base, apiKey: 'none', maxRetries: 0 })
  const reported: string[] = []
  for await (const event of await client.responses.retrieve(id, { stream: true })) {
    if (event.type === 'response.output_item.added') reported.push((event.item as { arguments: string }).arguments)
    if (event.type === 'response.mcp_call_arguments.delta') reported.push(event.delta)
    if (event.type === 'response.mcp_call_arguments.done') reported.push(event.arguments)
  }
  const [begun, pieces, whole] = reported
  expect(begun).toBe('')
  expect(JSON.parse(pieces!)).toMatchObject({})
  expect(whole).toBe(pieces)
  expect((await client.responses.retrieve(id)).output).toMatchObject([{ type: 'mcp_call', arguments: whole }])
})

test('OpenAI: every item that begins also ends, also in a failed run', async () => {
  const server = await serveOpenAi()
  const { text } = await raw(server, '/v1/responses', {
    model: 'lab',
    input: 'text 1; reason 1; text 1; throw boom',
    stream: true,
  })
  const frames = framesIn(text) as {
    type: string
    output_index: number
    response?: { output: { status?: string }[] }
  }[]
  const places = (type: string): number[] =>
    frames.flatMap((frame) => (frame.type === type ? [frame.output_index] : []))
  expect(places('response.output_item.added')).toEqual([0, 1, 2])
  expect(places('response.output_item.done')).toEqual([0, 1, 2])
  const failed = frames.find(({ type }) => type === 'response.failed')!
  expect(failed.response!.output.at(-1)!.status).toBe('incomplete')
})

test('OpenAI: with Holdfast-Tools: function_call, tools of the server are items of Open Responses, streamed, retrieved and sent back', async () => {
  const server = await serveOpenAi({ components: [busy] })
  const defaultHeaders = { 'holdfast-tools': 'function_call' }
  const client = new OpenAI({ baseURL: server.base, apiKey: 'none', maxRetries: 0, defaultHeaders })
  const streamed = await client.responses.stream({ model: 'busy', input: 'go' }).finalResponse()
  const items = streamed.output as readonly { type: string; call_id?: string; output?: string }[]
  expect(new Set(items.map(({ type }) => type))).toEqual(new Set(['message', 'function_call', 'function_call_output']))
  const results = items.filter(({ type }) => type === 'function_call_output')
  expect(results.toSorted((left, right) => (left.call_id! < right.call_id! ? -1 : 1))).toMatchObject([
    { call_id: 'c1', output: 'found', status: 'completed' },
    { call_id: 'c2', output: '{"error":"no such key"}', status: 'completed' },
  ])
  const plain = new OpenAI({ baseURL: server.base, apiKey: 'none', maxRetries: 0 })
  expect((await plain.responses.retrieve(streamed.id)).output).toEqual(
    (await client.responses.create({ model: 'busy', input: 'go' })).output.map((item, at) => ({
      ...item,
      id: streamed.output[at]!.id,
    })),
  )
  const input = [...(streamed.output as never[]), { role: 'user' as const, content: 'again' }]
  expect((await plain.responses.create({ model: 'busy', input })).status).toBe('completed')
  await expect(
    plain.responses.create({ model: 'busy', input: 'go' }, { headers: { 'holdfast-tools': 'none' } }),
  ).rejects.toMatchObject({ status: 400 })
})
