/** Chat completions through the gateway: output for clients of the same protocol, and truncated, odd or invalid streams. */
import { describe, expect, test } from 'vitest'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import type { OpenAiUpstreamOptions } from '../../src/agents/upstream/openai-source.ts'
import type { Server } from '../../src/server/create-server.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { serveInProcess } from '../support/in-process.ts'
import { until } from '../support/until.ts'
import { type ChatServer, chunk, playing, type Play, sse, startChatServer } from './chat-server.ts'

async function serve(url: string, options: OpenAiUpstreamOptions = {}): Promise<Server> {
  return serveInProcess({ store: createMemoryStore(), components: [upstream.openai(url, options)] })
}

async function serveScripts(scripts: Readonly<Record<string, Play>>, options: OpenAiUpstreamOptions = {}) {
  const chat = await startChatServer(scripts)
  return { chat, server: await serve(chat.url, options) }
}

const JSON_TYPE = { 'content-type': 'application/json' }

function ask(server: Server, model: string, more: object = {}): Promise<Response> {
  const body = { model, messages: [{ role: 'user', content: 'go' }], stream: true, ...more }
  return fetch(`${server.url}/v1/chat/completions`, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(body) })
}

/** The data of a stream's frames, in order; comments are not data. */
async function framesOf(response: Response): Promise<unknown[]> {
  const text = await response.text()
  return text.split('\n\n').flatMap((frame) => {
    const name = /^event: (.*)$/m.exec(frame)?.[1]
    const data = /^data: (.*)$/m.exec(frame)?.[1]
    if (data === undefined) return []
    const value: unknown = data === '[DONE]' ? data : JSON.parse(data)
    return [name === undefined ? value : { name, value }]
  })
}

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, prompt_tokens_details: { cached_tokens: 1 } }
const logprobs = { content: [{ token: 'a', logprob: -0.1, bytes: null, top_logprobs: [] }], refusal: null }
const call = (index: number, more: object) => ({ tool_calls: [{ index, ...more }] })

/** Streams in the shapes of several servers. */
const shapes: Readonly<Record<string, readonly object[]>> = {
  openai: [
    chunk({ role: 'assistant', content: '', refusal: null }, null, {
      system_fingerprint: 'fp_1',
      service_tier: 'default',
    }),
    { ...chunk({ content: 'a' }), choices: [{ index: 0, delta: { content: 'a' }, logprobs, finish_reason: null }] },
    chunk({}, 'stop'),
    { ...chunk({}), choices: [], usage },
  ],
  deepseek: [
    chunk({ role: 'assistant', content: null, reasoning_content: '' }),
    chunk({ content: null, reasoning_content: 'hm ' }),
    chunk({ content: 'yes', reasoning_content: null }),
    chunk({ content: '', reasoning_content: null }, 'stop', { usage: { ...usage, prompt_cache_hit_tokens: 1 } }),
  ],
  vllm: [
    chunk({ role: 'assistant', content: '' }, null, { prompt_token_ids: null }),
    {
      ...chunk({ content: 'a' }),
      choices: [{ index: 0, delta: { content: 'a' }, finish_reason: null, token_ids: [7] }],
    },
    { ...chunk({}), choices: [{ index: 0, delta: { content: '' }, finish_reason: 'stop', stop_reason: 2 }] },
  ],
  ollama: [
    chunk({ role: 'assistant', content: 'a' }, null, { system_fingerprint: 'fp_ollama' }),
    chunk({ role: 'assistant', content: '' }, 'stop', { system_fingerprint: 'fp_ollama' }),
  ],
  openrouter: [
    chunk({ role: 'assistant', content: 'a', reasoning: 'hm', reasoning_details: [{ type: 'x' }] }, null, {
      provider: 'P',
    }),
    {
      ...chunk({}),
      choices: [{ index: 0, delta: {}, finish_reason: 'stop', native_finish_reason: 'STOP' }],
      provider: 'P',
    },
  ],
  tools: [
    chunk({ role: 'assistant', content: null }),
    chunk(call(0, { id: 'call_x', type: 'function', function: { name: 'look', arguments: '' } })),
    chunk(call(0, { function: { arguments: '{"city":' } })),
    chunk(call(0, { function: { arguments: '"Bergen"}' } })),
    chunk({}, 'tool_calls', { usage }),
  ],
  refusal: [chunk({ role: 'assistant', refusal: 'I cannot.' }), chunk({}, 'content_filter')],
}

describe('gateway, chat completions: a client of the same protocol', () => {
  test.for(Object.entries(shapes))('sees the stream of %s as it came', async ([name, chunks]) => {
    const { server } = await serveScripts({ [name]: playing(sse(...chunks, '[DONE]')) })
    const response = await ask(server, name, { stream_options: { include_usage: true } })
    expect(response.headers.get('holdfast-run')).toMatch(/^run_/)
    expect(await framesOf(response)).toEqual([...chunks, '[DONE]'])
  })

  test('a non-streaming response keeps unknown fields', async () => {
    const { server } = await serveScripts(
      Object.fromEntries(Object.entries(shapes).map(([name, chunks]) => [name, playing(sse(...chunks, '[DONE]'))])),
    )
    const whole = async (name: string) =>
      (await (await ask(server, name, { stream: false })).json()) as { choices: { message: unknown }[] }
    expect(await whole('openai')).toMatchObject({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      system_fingerprint: 'fp_1',
      usage,
      choices: [{ message: { role: 'assistant', content: 'a', refusal: null }, logprobs, finish_reason: 'stop' }],
    })
    expect((await whole('deepseek')).choices[0]!.message).toEqual({
      role: 'assistant',
      content: 'yes',
      reasoning_content: 'hm ',
    })
    expect((await whole('tools')).choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        content: null,
        tool_calls: [{ id: 'call_x', type: 'function', function: { name: 'look', arguments: '{"city":"Bergen"}' } }],
      },
    })
    expect(await whole('openrouter')).toMatchObject({ provider: 'P', choices: [{ native_finish_reason: 'STOP' }] })
  })

  test('sends fields that Holdfast does not know, and results of tools that it executed', async () => {
    const { server, chat } = await serveScripts({ tools: playing(sse(...shapes['tools']!, '[DONE]')) })
    const messages = [
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_x', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_x', content: 'rain' },
    ]
    await (await ask(server, 'tools', { messages, logprobs: true, top_k: 40, reasoning_effort: 'high' })).text()
    expect(chat.bodies).toEqual([
      {
        model: 'tools',
        messages,
        logprobs: true,
        top_k: 40,
        reasoning_effort: 'high',
        stream: true,
        stream_options: { include_usage: true },
      },
    ])
  })

  test('gets events with names of the server’s own, such as progress of tools', async () => {
    const progress = { tool: 'todo', toolCallId: 'call_1', status: 'running' }
    const events = `${sse(chunk({ role: 'assistant' }))}event: hermes.tool.progress\ndata: ${JSON.stringify(progress)}\n\n`
    const { server } = await serveScripts({
      hermes: playing(events + sse(chunk({ content: 'done' }), chunk({}, 'stop'), '[DONE]')),
    })
    expect(await framesOf(await ask(server, 'hermes'))).toEqual([
      chunk({ role: 'assistant' }),
      { name: 'hermes.tool.progress', value: progress },
      chunk({ content: 'done' }),
      chunk({}, 'stop'),
      '[DONE]',
    ])
  })

  test('reads streams with split characters, CRLF, comments and no [DONE]', async () => {
    const text = sse(chunk({ role: 'assistant', content: 'så 🦊' }), chunk({}, 'stop')).replaceAll('\n', '\r\n')
    const { server } = await serveScripts({ odd: playing(`: hello\r\n\r\n${text}`, 'end', 60) })
    expect(await framesOf(await ask(server, 'odd'))).toEqual([
      chunk({ role: 'assistant', content: 'så 🦊' }),
      chunk({}, 'stop'),
      '[DONE]',
    ])
  })

  test('may use a model whose id has a slash', async () => {
    const { server } = await serveScripts({ 'org/m:8b': playing(sse(...shapes['ollama']!, '[DONE]')) })
    const { data } = (await (await fetch(`${server.url}/v1/models`)).json()) as { data: { id: string }[] }
    expect(data.map(({ id }) => id)).toEqual(['org/m:8b'])
    expect((await framesOf(await ask(server, 'org/m:8b'))).at(-1)).toBe('[DONE]')
  })
})

describe('gateway, chat completions: [RUN-3] an incomplete response', () => {
  const half = chunk({ role: 'assistant', content: 'half' })
  test.for<[string, Play, string]>([
    ['is cut', playing(sse(half), 'break'), 'upstream_cut'],
    ['ends without a finish reason', playing(sse(half)), 'upstream_incomplete'],
    ['ends within a frame', playing(`${sse(half)}data: {"id`), 'upstream_incomplete'],
    ['is not JSON', playing(`${sse(half)}data: <html>\n\n`), 'upstream_protocol_error'],
    ['has an error', playing(sse(half, { error: { message: 'no GPU' } }, '[DONE]')), 'upstream_error'],
    ['finishes with an error', playing(sse(half, chunk({}, 'error'), '[DONE]')), 'upstream_error'],
    [
      'has an error beside its finish',
      playing(sse(half, chunk({}, 'length', { error: { message: 'x' } }), '[DONE]')),
      'upstream_error',
    ],
    [
      'is empty and took nothing',
      playing(
        sse(
          chunk({ role: 'assistant' }),
          chunk({}, 'stop', { usage: { prompt_tokens: 0, completion_tokens: 0 } }),
          '[DONE]',
        ),
      ),
      'upstream_empty',
    ],
    [
      'is refused',
      (response) => void response.writeHead(400).end('{"error":{"message":"bad model"}}'),
      'upstream_http_error',
    ],
    ['fails there', (response) => void response.writeHead(500).end('boom'), 'upstream_http_error'],
    [
      'falls silent',
      (response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(sse(half)),
      'upstream_idle',
    ],
  ])('that %s ends in an error, and never as success', async ([, play, code]) => {
    const { server } = await serveScripts({ m: play }, { idleTimeoutMs: 300 })
    const response = await ask(server, 'm')
    const frames = (await framesOf(response)) as { error?: { code?: string } }[]
    expect(frames.at(-1)?.error?.code).toBe(code)
    expect(frames).not.toContain('[DONE]')
    const run = await (await fetch(`${server.url}/runs/${response.headers.get('holdfast-run')}`)).json()
    expect(run).toMatchObject({ status: 'failed' })
  })

  test('is accepted if the upstream’s policy says so', async () => {
    const { server } = await serveScripts({ m: playing(sse(half)) }, { onIncompleteResponse: 'accept' })
    expect(await framesOf(await ask(server, 'm'))).toEqual([half, '[DONE]'])
  })

  test('is asked for again with recovery retry, and the first answer is retracted', async () => {
    let asked = 0
    const play: Play = (response, body) =>
      playing(
        asked++ === 0 ? sse(half) : sse(half, chunk({ content: ' more' }), chunk({}, 'stop'), '[DONE]'),
        asked === 1 ? 'break' : 'end',
      )(response, body)
    const { server } = await serveScripts({ m: play }, { recovery: 'retry' })
    const whole = (await (await ask(server, 'm', { stream: false })).json()) as {
      choices: { message: { content: string } }[]
    }
    expect(whole.choices[0]!.message.content).toBe('half more')
    expect(asked).toBe(2)
  })
})

describe('gateway, chat completions: an upstream', () => {
  const words =
    (count: number, gate?: Promise<unknown>): Play =>
    async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (let number = 0; number < count; number++) {
        response.write(sse(chunk({ content: `w${number} ` })))
        if (number === 2) await gate
      }
      response.end(sse(chunk({}, 'stop'), '[DONE]'))
    }

  async function leave(server: Server, model: string): Promise<string> {
    const leaving = new AbortController()
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'go' }], stream: true })
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: JSON_TYPE,
      body,
      signal: leaving.signal,
    })
    const reader = response.body!.getReader()
    let seen = ''
    while (!seen.includes('w2')) seen += Buffer.from((await reader.read()).value!).toString()
    leaving.abort()
    return response.headers.get('holdfast-run')!
  }

  test('gateway: a run continues when its client leaves, and every other protocol shows the whole answer', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { server } = await serveScripts({ m: words(6, promise) })
    const run = await leave(server, 'm')
    resolve()
    const log = await (
      await fetch(`${server.url}/runs/${run}/events`, { headers: { accept: 'text/event-stream' } })
    ).text()
    expect([...log.matchAll(/"type":"text.delta".*?"text":"(.*?)"/g)].map(([, text]) => text).join('')).toBe(
      'w0 w1 w2 w3 w4 w5 ',
    )
    const form = new URLSearchParams({ message: 'go', stream: 'false' })
    const agentos = await (await fetch(`${server.url}/agents/m/runs`, { method: 'POST', body: form })).json()
    expect(agentos).toMatchObject({ status: 'COMPLETED', content: 'w0 w1 w2 w3 w4 w5 ' })
  })

  test('gateway: a run is cancelled when its client leaves, with onDisconnect: stop', async () => {
    const { server, chat } = await serveScripts({ m: words(6, new Promise(() => {})) }, { onDisconnect: 'stop' })
    const run = await leave(server, 'm')
    await until('the upstream lost its client', () => chat.gone === 1)
    expect(chat.bodies).toHaveLength(1)
    await until('the run is cancelled', async () => {
      const { status } = (await (await fetch(`${server.url}/runs/${run}`)).json()) as { status: string }
      return status === 'cancelled'
    })
  })

  test('that is down does not prevent the start, is named by /health, and is found when it is up', async () => {
    const other: ChatServer = await startChatServer({ m: words(1) })
    const { port } = new URL(other.url)
    await other.stop()
    const server = await serve(other.url)
    const health = async () => (await (await fetch(`${server.url}/health/ready`)).json()) as { upstreams: object[] }
    expect((await health()).upstreams).toMatchObject([{ name: 'openai', status: 'unreachable', components: 0 }])
    expect((await ask(server, 'm')).status).toBe(404)
    await startChatServer({ m: words(1) }, Number(port))
    await until('the upstream was found', async () => (await ask(server, 'm')).status === 200)
    expect((await health()).upstreams).toMatchObject([{ status: 'ok', components: 1 }])
  })

  test('with the id of another one is named in a clear error, and served with a prefix', async () => {
    const [one, two] = [await startChatServer({ m: words(1) }), await startChatServer({ m: words(2) })]
    const of = async (prefix: string) =>
      serveInProcess({
        store: createMemoryStore(),
        components: [upstream.openai(one.url, { name: 'one' }), upstream.openai(two.url, { name: 'two', prefix })],
      })
    const conflicting = await of('')
    expect(conflicting.service.health().upstreams).toMatchObject([
      { name: 'one', status: 'ok' },
      { name: 'two', status: 'conflict', error: expect.stringContaining('Set a prefix') },
    ])
    const server = await of('two-')
    expect(server.service.components().map(({ id }) => id)).toEqual(['m', 'two-m'])
    expect(await framesOf(await ask(server, 'two-m'))).toContainEqual(chunk({ content: 'w1 ' }))
  })

  test('whose address contains a password is refused without repeating it', () => {
    const opening = () => upstream.openai('http://anna:hunter2@127.0.0.1:9/v1')
    expect(opening).toThrow('the address of the upstream at 127.0.0.1:9 contains a user name or a password')
    expect(opening).not.toThrow('hunter2')
  })

  test('that dies is reported at once to later requests, in the protocol’s own form', async () => {
    const { server, chat } = await serveScripts({ m: words(1) }, { discoveryIntervalMs: 50 })
    await chat.stop()
    await until('the gateway noticed', () => server.service.health().upstreams?.[0]?.status === 'unreachable')
    const response = await ask(server, 'm')
    expect(response.status).toBe(503)
    // Clients are not told where the upstream is, or how it fails.
    expect(await response.json()).toMatchObject({ error: { message: 'the upstream openai is unreachable' } })
    const form = new URLSearchParams({ message: 'go' })
    expect((await fetch(`${server.url}/agents/m/runs`, { method: 'POST', body: form })).status).toBe(503)
  })
})
