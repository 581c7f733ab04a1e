/** Stored responses: retrieve, resume, cancel, delete. */
import { describe, expect, test } from 'vitest'
import OpenAI from 'openai'
import type { Responses } from 'openai/resources'
import OpenAI6 from 'openai-v6'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { createKeys } from '../../support/keys.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { framesIn, raw, serveOpenAi, type OpenAiServer, untilRun } from './serve.ts'

const versions = { 'openai 7': OpenAI, 'openai 6': OpenAI6 as unknown as typeof OpenAI }

function clientOf({ base }: OpenAiServer, apiKey = 'none', version: keyof typeof versions = 'openai 7'): OpenAI {
  return new versions[version]({ baseURL: base, apiKey, maxRetries: 0 })
}

async function collect(stream: AsyncIterable<Responses.ResponseStreamEvent>): Promise<{
  readonly events: Responses.ResponseStreamEvent[]
  readonly raised: unknown
}> {
  const events: Responses.ResponseStreamEvent[] = []
  try {
    for await (const event of stream) events.push(event)
    return { events, raised: undefined }
  } catch (raised) {
    return { events, raised }
  }
}

interface End {
  readonly name: string
  readonly model?: string
  readonly input: string
  readonly tools?: Responses.Tool[]
  readonly fails?: true
  readonly stopped?: true
}

const weather: Responses.Tool = { type: 'function', name: 'weather', parameters: {}, strict: false }

const ends = (
  [
    { name: 'a success', input: 'reason 1; text 3; tool search; text 2; usage 1 2' },
    { name: 'unicode', input: 'say "dünen 🌊 und 海藻"; say " é🏴‍☠️"' },
    { name: 'a call of a tool of the client', model: 'forecaster', input: 'Oslo and Rome', tools: [weather] },
    { name: 'a throw before the first token', input: 'throw boom', fails: true },
    { name: 'a throw midway', input: 'text 3; tool search; throw boom', fails: true },
    { name: 'something unserializable midway', input: 'text 3; circular; text 2', fails: true },
    { name: 'a rejection', input: 'text 1; reject not this', fails: true },
    { name: 'a stop', input: 'text 3; hang', fails: true, stopped: true },
    { name: 'a deadline', model: 'lab-hurried', input: 'text 3; hang', fails: true },
  ] satisfies readonly End[]
).flatMap((end: End) => [
  { ...end, version: 'openai 7' as const },
  { ...end, version: 'openai 6' as const },
])

describe('OpenAI: resuming', () => {
  test.each(ends)('[LOG-5] $name is the same from each sequence number ($version)', async (end) => {
    const { version, model = 'lab', input, tools = [], fails = false, stopped = false } = end
    const server = await serveOpenAi()
    const stop = async (): Promise<unknown> => server.service.stop(localPrincipal, (await untilRun(server, 4)).id)
    const stopping = stopped ? stop() : undefined
    const client = clientOf(server, 'none', version)
    const live = await collect(await client.responses.create({ model, input, tools, background: true, stream: true }))
    await stopping
    const { id } = (live.events[0] as Responses.ResponseCreatedEvent).response
    const whole = await raw(server, `/v1/responses/${id}?stream=true`)
    expect(live.events.map(({ sequence_number: number }) => number)).toEqual([...live.events.keys()])
    for (const { sequence_number: after } of live.events) {
      const rest = await raw(server, `/v1/responses/${id}?stream=true&starting_after=${after}`)
      expect(whole.text.endsWith(rest.text.replace(/^: ping\n\n/, ''))).toBe(true)
      const resumed = await collect(await client.responses.retrieve(id, { stream: true, starting_after: after }))
      expect(resumed.events).toEqual(live.events.slice(after + 1))
      expect(resumed.raised !== undefined).toBe(fails)
    }
  })

  test.each([
    ['openai 7', OpenAI],
    ['openai 6', OpenAI6 as unknown as typeof OpenAI],
  ])(
    'the stream helper of %s, which asks from the beginning and filters, gives the same answer',
    async (_name, Client) => {
      const server = await serveOpenAi()
      const client = new Client({ baseURL: server.base, apiKey: 'none', maxRetries: 0 })
      const { id } = await client.responses.create({ model: 'lab', input: 'text 5', background: true })
      const stream = client.responses.stream({ response_id: id, starting_after: 4 })
      const seen: number[] = []
      for await (const event of stream) seen.push(event.sequence_number)
      expect(seen[0]).toBe(5)
      expect((await stream.finalResponse()).output_text).toMatch(/^\[0\].*\[4\]/)
    },
  )

  test('[SUB-2] a sequence number outside the response is rejected in OpenAI’s format', async () => {
    const server = await serveOpenAi()
    const client = clientOf(server)
    const { id } = await client.responses.create({ model: 'lab', input: 'text 1' })
    for (const starting_after of [1000, -1]) {
      const requested = client.responses.retrieve(id, { stream: true, starting_after })
      await expect(requested).rejects.toMatchObject({ status: 400, param: 'starting_after' })
    }
  })

  test('[SUB-3] sends headers and the first event before the agent’s first output, then heartbeats', async () => {
    const server = await serveOpenAi({ limits: { heartbeatIntervalMs: 30 } })
    for (const [path, body] of [
      ['/v1/responses', { model: 'lab', input: 'sleep 1500; text 1', stream: true }],
      [
        '/v1/chat/completions',
        { model: 'lab', messages: [{ role: 'user', content: 'sleep 1500; text 1' }], stream: true },
      ],
    ] as const) {
      const { text, headers } = await raw(server, path, body)
      const before = text.slice(0, text.indexOf('[0]'))
      expect(before.match(/^: ping$/gm)!.length).toBeGreaterThan(1)
      expect(before).toMatch(/response\.created|"role":"assistant"/)
      expect(headers.get('x-accel-buffering')).toBe('no')
    }
  })
})

describe('OpenAI: a response', () => {
  test('a background response is queued at once, and has every key from the beginning', async () => {
    const server = await serveOpenAi()
    const metadata = { topic: 'kelp' }
    const { text } = await raw(server, '/v1/responses', {
      model: 'lab',
      input: 'text 1',
      background: true,
      stream: true,
      metadata,
      temperature: 0.5,
      user: 'u1',
    })
    const frames = framesIn(text) as { type: string; response: Record<string, unknown> }[]
    expect(frames.slice(0, 3).map(({ type }) => type)).toEqual([
      'response.created',
      'response.queued',
      'response.in_progress',
    ])
    const { response } = frames[0]!
    expect(response).toMatchObject({ status: 'queued', metadata, temperature: 0.5, background: true, usage: null })
    expect(Object.keys(response).toSorted()).toEqual(Object.keys(frames.at(-2)!.response).toSorted())
    expect(frames.at(-1)).toBe('[DONE]')
  })

  test('[RUN-2] can be cancelled repeatedly, which ends the stream with an error and leaves a finished one unchanged', async () => {
    const server = await serveOpenAi()
    const client = clientOf(server)
    const live = client.responses.create({ model: 'lab', input: 'text 2; hang', background: true, stream: true })
    const collected = live.then(collect)
    const { id } = await untilRun(server, 4)
    const response = id.replace('run_', 'resp_')
    expect(await client.responses.cancel(response)).toMatchObject({ status: 'cancelled', error: { code: 'cancelled' } })
    expect(await client.responses.cancel(response)).toMatchObject({ status: 'cancelled' })
    expect(await collected).toMatchObject({ raised: { code: 'cancelled' } })
    const { id: done } = await client.responses.create({ model: 'lab', input: 'text 1' })
    expect(await client.responses.cancel(done)).toMatchObject({ status: 'completed' })
  })

  test('a deleted response is gone, and one in progress cannot be deleted', async () => {
    const server = await serveOpenAi()
    const client = clientOf(server)
    const { id } = await client.responses.create({ model: 'lab', input: 'text 1' })
    await client.responses.delete(id)
    await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404 })
    const running = await client.responses.create({ model: 'lab', input: 'hang', background: true })
    await expect(client.responses.delete(running.id)).rejects.toMatchObject({ status: 409 })
  })

  test('a response with store: false cannot be retrieved or continued', async () => {
    const server = await serveOpenAi()
    const client = clientOf(server)
    const { id } = await client.responses.create({ model: 'lab', input: 'text 1', store: false })
    await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404 })
    const next = client.responses.create({ model: 'lab', input: 'text 1', previous_response_id: id })
    await expect(next).rejects.toMatchObject({ status: 400, code: 'previous_response_not_found' })
  })

  test('lists its input page by page', async () => {
    const server = await serveOpenAi()
    const client = clientOf(server)
    const input = ['a', 'b', 'instructions'].map((content) => ({ role: 'user' as const, content }))
    const { id } = await client.responses.create({ model: 'forecaster', input })
    const listed: unknown[] = []
    for await (const item of client.responses.inputItems.list(id, { limit: 2, order: 'asc' })) listed.push(item)
    expect(listed).toMatchObject(input.map(({ content }) => ({ role: 'user', content: [{ text: content }] })))
  })

  test('[SUB-2] a response whose beginning was trimmed is rejected instead of returned incomplete', async () => {
    const store = createMemoryStore()
    const server = await serveOpenAi({ store })
    const client = clientOf(server)
    const key = { headers: { 'idempotency-key': 'k' } }
    const body = { model: 'lab', input: 'text 3' }
    const { id } = await client.responses.create(body, key)
    await store.trim(id.replace('resp_', 'run_'), 4)
    const refused = [
      client.responses.retrieve(id),
      client.responses.retrieve(id, { stream: true }),
      client.responses.create(body, key),
      client.responses.create({ ...body, stream: true }, key),
    ]
    await Promise.all(
      refused.map((each) => expect(each).rejects.toMatchObject({ status: 410, code: 'cursor_expired' })),
    )
  })

  test('can be retrieved for a chat completion and a run of another protocol', async () => {
    const server = await serveOpenAi()
    const client = clientOf(server)
    const messages = [{ role: 'user' as const, content: 'text 2' }]
    const chat = await client.chat.completions.create({ model: 'lab', messages })
    const response = await client.responses.retrieve(chat.id.replace('chatcmpl-', 'resp_'))
    expect(response.output_text).toBe(chat.choices[0]!.message.content)
    const native = await raw(server, '/runs', { component: 'lab', input: 'text 2' })
    const { id } = JSON.parse(native.text) as { id: string }
    await untilRun(server, 5)
    expect(await client.responses.retrieve(id.replace('run_', 'resp_'))).toMatchObject({ model: 'lab' })
  })

  test('[SEC-1] a response of another principal does not exist, on any route', async () => {
    const keys = `${temporaryFolder()}/keys.json`
    const [annKey, bobKey] = await createKeys(keys, ['ann', 'bob'])
    const server = await serveOpenAi({ auth: { keys } })
    const [ann, bob] = [clientOf(server, annKey), clientOf(server, bobKey)]
    const { id } = await ann.responses.create({ model: 'lab', input: 'text 1' })
    const conversation = await ann.conversations.create({})
    const refused = [
      bob.responses.retrieve(id),
      bob.responses.retrieve(id, { stream: true }),
      bob.responses.cancel(id),
      bob.responses.delete(id),
      bob.responses.inputItems.list(id),
      bob.conversations.retrieve(conversation.id),
      bob.conversations.items.list(conversation.id),
      bob.responses.create({ model: 'lab', input: 'text 1', conversation: conversation.id }),
    ]
    await Promise.all(refused.map((each) => expect(each).rejects.toMatchObject({ status: 404 })))
    const next = bob.responses.create({ model: 'lab', input: 'text 1', previous_response_id: id })
    await expect(next).rejects.toMatchObject({ status: 400, code: 'previous_response_not_found' })
    await expect(clientOf(server, 'wrong').models.list()).rejects.toMatchObject({
      status: 401,
      code: 'invalid_api_key',
    })
  })
})
