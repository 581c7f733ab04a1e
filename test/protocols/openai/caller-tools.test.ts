/** Tools that the caller executes: the run waits for their results from any client. */
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount, type LanguageModel, streamText, tool } from 'ai'
import OpenAI from 'openai'
import type { ChatCompletionMessageParam } from 'openai/resources'
import OpenAI6 from 'openai-v6'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { until } from '../../support/until.ts'
import { type OpenAiServer, raw, runsOf, serveOpenAi } from './serve.ts'

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const chatTool = { type: 'function' as const, function: { name: 'weather', parameters } }
const responseTool = { type: 'function' as const, name: 'weather', parameters, strict: false }

const clients: readonly (readonly [string, typeof OpenAI])[] = [
  ['openai 7', OpenAI],
  ['openai 6', OpenAI6 as unknown as typeof OpenAI],
]

const clientOf = (server: OpenAiServer, Client: typeof OpenAI): OpenAI =>
  new Client({ baseURL: server.base, apiKey: 'none', maxRetries: 0 })

type ChatBody = { model: string; messages: ChatCompletionMessageParam[]; tools: OpenAI.ChatCompletionTool[] }
type ResponseBody = {
  model: string
  input: OpenAI.Responses.ResponseInput
  tools: OpenAI.Responses.Tool[]
  previous_response_id?: string
}
type Ask<Body, Answer> = (client: OpenAI, body: Body) => Promise<Answer>

const chatWays: Readonly<Record<string, Ask<ChatBody, OpenAI.ChatCompletion.Choice>>> = {
  whole: async (client, body) => (await client.chat.completions.create(body)).choices[0]!,
  helper: async (client, body) => (await client.chat.completions.stream(body).finalChatCompletion()).choices[0]!,
  stream: async (client, body) => {
    const message = { role: 'assistant' as const, content: '', refusal: null, tool_calls: [] as FunctionCall[] }
    let finish: OpenAI.ChatCompletion.Choice['finish_reason'] | null = null
    for await (const { choices } of await client.chat.completions.create({ ...body, stream: true })) {
      const { delta, finish_reason: reason } = choices[0]!
      message.content += delta.content ?? ''
      finish = reason ?? finish
      for (const { index, id, function: piece } of delta.tool_calls ?? []) {
        const call = (message.tool_calls[index] ??= {
          id: id!,
          type: 'function',
          function: { name: '', arguments: '' },
        })
        call.function.name += piece?.name ?? ''
        call.function.arguments += piece?.arguments ?? ''
      }
    }
    return { index: 0, message, finish_reason: finish!, logprobs: null }
  },
}

type FunctionCall = OpenAI.ChatCompletionMessageFunctionToolCall

const responseWays: Readonly<Record<string, Ask<ResponseBody, OpenAI.Responses.Response>>> = {
  whole: (client, body) => client.responses.create(body),
  helper: (client, body) => client.responses.stream(body).finalResponse(),
  stream: async (client, body) => {
    let last: OpenAI.Responses.ResponseStreamEvent | undefined
    for await (const event of await client.responses.create({ ...body, stream: true })) last = event
    const { id } = (last as OpenAI.Responses.ResponseCompletedEvent).response
    return client.responses.retrieve(id)
  },
  background: async (client, body) => {
    const { id } = await client.responses.create({ ...body, background: true })
    return until(`response ${id} has ended`, async () => {
      const response = await client.responses.retrieve(id)
      return response.status !== 'queued' && response.status !== 'in_progress' && response
    })
  },
}

describe.each(clients)('%s', (_name, Client) => {
  test.each(Object.entries(chatWays))('chat, %s: a follow-up answers the calls, in the same run', async (_way, ask) => {
    const server = await serveOpenAi()
    const client = clientOf(server, Client)
    const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: 'Oslo and Rome' }]
    const body = { model: 'forecaster', messages, tools: [chatTool] }
    const first = await ask(client, body)
    expect(first.finish_reason).toBe('tool_calls')
    expect(first.message.content).toBe('Looking it up. ')
    const calls = first.message.tool_calls as FunctionCall[]
    expect(calls.map(({ function: { name, arguments: input } }) => [name, JSON.parse(input)])).toEqual([
      ['weather', { city: 'Oslo' }],
      ['weather', { city: 'Rome' }],
    ])
    messages.push(first.message, ...calls.map(({ id }, at) => result(id, ['snow', 'sun'][at]!)))
    const second = await ask(client, body)
    expect(second.finish_reason).toBe('stop')
    expect(second.message.content).toBe('It is snow. It is sun.')
    expect(await runsOf(server)).toMatchObject([{ status: 'completed' }])
  })

  test.each(Object.entries(responseWays))(
    'responses, %s: a follow-up answers the calls, in the same run',
    async (_way, ask) => {
      const server = await serveOpenAi()
      const client = clientOf(server, Client)
      const api = client.responses
      const body = { model: 'forecaster', tools: [responseTool] }
      const first = await ask(client, { ...body, input: [{ role: 'user', content: 'Oslo' }] })
      expect(first.status).toBe('completed')
      expect(first.output_text).toBe('Looking it up. ')
      const call = first.output.find((item) => item.type === 'function_call')!
      expect(call).toMatchObject({ name: 'weather', arguments: '{"city":"Oslo"}' })
      expect(first.output.map(({ type }) => type)).toEqual(['message', 'function_call'])
      const results = [{ type: 'function_call_output' as const, call_id: call.call_id, output: 'snow' }]
      const second = await ask(client, { ...body, input: results, previous_response_id: first.id })
      expect(second).toMatchObject({ status: 'completed', output_text: 'It is snow.', previous_response_id: first.id })
      expect(second.id).not.toBe(first.id)
      expect(await api.retrieve(first.id)).toMatchObject({ output_text: first.output_text, status: 'completed' })
      expect(await api.retrieve(second.id)).toMatchObject({ output_text: second.output_text })
      expect((await api.inputItems.list(second.id)).data).toMatchObject(results)
      expect(await runsOf(server)).toHaveLength(1)
    },
  )
})

const models: readonly (readonly [string, (server: OpenAiServer) => LanguageModel])[] = [
  [
    'AI SDK, chat',
    ({ base }) => createOpenAICompatible({ name: 'holdfast', baseURL: base, apiKey: 'none' })('forecaster'),
  ],
  ['AI SDK, responses', ({ base }) => createOpenAI({ baseURL: base, apiKey: 'none' }).responses('forecaster')],
]

describe.each(models)('%s', (_name, modelOf) => {
  test.each([false, true])('executes the tool and gets the rest of the answer (stream: %s)', async (stream) => {
    const server = await serveOpenAi()
    const cities: string[] = []
    const weather = tool({
      inputSchema: z.object({ city: z.string() }),
      execute: ({ city }) => {
        cities.push(city)
        return 'snow'
      },
    })
    const options = {
      model: modelOf(server),
      prompt: 'Oslo',
      tools: { weather },
      stopWhen: isStepCount(4),
      maxRetries: 0,
    }
    const text = stream ? await streamText(options).text : (await generateText(options)).text
    expect(text).toBe('It is snow.')
    expect(cities).toEqual(['Oslo'])
    expect(await runsOf(server)).toMatchObject([{ status: 'completed' }])
  })
})

describe('OpenAI: tool results', () => {
  const messages = [{ role: 'user', content: 'Oslo' }]
  const ask = async (server: OpenAiServer, extra: readonly object[] = []) =>
    raw(server, '/v1/chat/completions', { model: 'forecaster', messages: [...messages, ...extra], tools: [chatTool] })

  test('[RUN-4] tool results sent twice lead to the same answer, and different ones to a conflict', async () => {
    const server = await serveOpenAi()
    const { message } = (JSON.parse((await ask(server)).text) as OpenAI.ChatCompletion).choices[0]!
    const { id } = message.tool_calls![0]!
    const once = await ask(server, [message, result(id, 'snow')])
    const twice = await ask(server, [message, result(id, 'snow')])
    expect(twice.text).toBe(once.text)
    const other = await ask(server, [message, result(id, 'sun')])
    expect(other.status).toBe(409)
    expect(other.headers.get('x-should-retry')).toBe('false')
  })

  test('tool results for another server’s calls are part of the history', async () => {
    const server = await serveOpenAi()
    const call = {
      id: 'call_of_another',
      type: 'function',
      function: { name: 'weather', arguments: '{"city":"Oslo"}' },
    }
    const { text } = await ask(server, [{ role: 'assistant', tool_calls: [call] }, result(call.id, 'fog')])
    expect(JSON.parse(text)).toMatchObject({ choices: [{ message: { content: 'It is fog.' } }] })
  })
})

describe('OpenAI: what the caller sends to a model', () => {
  test('instructions, tools and format reach the model; tool_choice none leaves the tools out', async () => {
    const server = await serveOpenAi()
    const client = clientOf(server, OpenAI)
    const say = async (input: string, extra: object = {}): Promise<string> =>
      (await client.responses.create({ model: 'forecaster', input, ...extra })).output_text
    expect(await say('instructions', { instructions: 'Be brief.' })).toBe('told: Be brief.')
    expect(await say('tools', { tools: [responseTool] })).toBe('tools: weather')
    expect(await say('tools', { tools: [responseTool], tool_choice: 'none' })).toBe('tools: ')
    const format = { type: 'json_schema', name: 'answer', schema: { type: 'object', properties: {} } }
    expect(await say('format', { text: { format } })).toBe('{"format":"json"}')
  })

  test('the leader of a team gets them too', async () => {
    const server = await serveOpenAi()
    const api = clientOf(server, OpenAI).responses
    const body = { model: 'forecasters', tools: [responseTool] }
    expect((await api.create({ ...body, input: 'instructions', instructions: 'Be brief.' })).output_text).toMatch(
      /^told: You lead a team.*Be brief\.$/s,
    )
    const first = await api.create({ ...body, input: 'Oslo' })
    const call = first.output.find((item) => item.type === 'function_call')!
    const results = [{ type: 'function_call_output' as const, call_id: call.call_id, output: 'snow' }]
    const [one, two] = await Promise.all([
      api.create({ ...body, input: results }),
      api.create({ ...body, input: results }),
    ])
    expect(one).toMatchObject({ output_text: 'It is snow.' })
    expect(two.id).toBe(one.id)
  })

  test('images and files reach the model', async () => {
    const server = await serveOpenAi()
    const client = clientOf(server, OpenAI)
    const { choices } = await client.chat.completions.create({
      model: 'forecaster',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'prompt' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
            { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
            { type: 'file', file: { file_data: 'data:application/pdf;base64,aGk=', filename: 'a.pdf' } },
          ],
        },
      ],
    })
    const text = choices[0]!.message.content!
    expect(text).toContain('image/png')
    expect(text).toContain('https://example.com/a.png')
    expect(text).toContain('application/pdf')
  })
})

function result(id: string, content: string): { role: 'tool'; tool_call_id: string; content: string } {
  return { role: 'tool', tool_call_id: id, content }
}
