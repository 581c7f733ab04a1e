/** The WebSocket of `/v1/responses` with the stock client's helper. */
import OpenAI from 'openai'
import { ResponsesWS } from 'openai/resources/responses/ws'
import type { ResponsesClientEvent, ResponsesServerEvent } from 'openai/resources/responses/responses'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import { silentLogger } from '../../../src/core/ports/logger.ts'
import { ResponseSession } from '../../../src/protocols/openai/socket/session.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { until } from '../../support/until.ts'
import { runsOf, serveOpenAi } from './serve.ts'

type Event = ResponsesServerEvent & { readonly stream_id?: string; readonly sequence_number?: number }

interface Socket {
  readonly client: ResponsesWS
  readonly events: Event[]
  readonly errors: unknown[]
  readonly send: (request: object) => void
  /** The end of the nth response, or its error. */
  readonly ended: (count: number) => Promise<Event>
}

const ENDS = ['response.completed', 'response.failed', 'response.incomplete', 'error']

function connect(baseURL: string, options: ConstructorParameters<typeof ResponsesWS>[1] = {}): Socket {
  const client = new ResponsesWS(new OpenAI({ baseURL, apiKey: 'none' }), options)
  onTestFinished(() => client.close())
  const events: Event[] = []
  const errors: unknown[] = []
  client.on('event', (event) => void events.push(event))
  client.on('error', (error) => void errors.push(error))
  return {
    client,
    events,
    errors,
    send: (request) => client.send({ type: 'response.create', ...request }),
    ended: (count) =>
      until(`${count} responses have ended`, () => events.filter(({ type }) => ENDS.includes(type))[count - 1]),
  }
}

const responseIn = (event: Event): { id: string; status: string; output: object[]; error: { code: string } | null } =>
  (event as unknown as { response: { id: string; status: string; output: object[]; error: { code: string } | null } })
    .response

const codeIn = (event: Event): string | undefined => (event as unknown as { error?: { code?: string } }).error?.code

describe('OpenAI WebSocket: a response', () => {
  test('has the events of the HTTP stream, but for its end marker', async () => {
    const server = await serveOpenAi()
    const socket = connect(server.base)
    const request = { model: 'lab', input: 'text 3; tool look; text 2' }
    socket.send(request)
    const { id } = responseIn(await socket.ended(1))
    const response = await fetch(`${server.base}/responses/${id}?stream=true`)
    const streamed = [...(await response.text()).matchAll(/^data: (\{.*\})$/gm)].map(
      ([, data]) => JSON.parse(data!) as object,
    )
    expect(socket.events).toEqual(streamed)
    expect(socket.errors).toEqual([])
  })

  test.each([
    ['text 2; throw boom', 'agent_failed'],
    ['text 2; reject not today', 'rejected'],
  ])('that fails after %s ends once, and the next one works', async (input, code) => {
    const server = await serveOpenAi()
    const socket = connect(server.base)
    socket.send({ model: 'lab', input })
    socket.send({ model: 'lab', input: 'text 1' })
    expect(responseIn(await socket.ended(1))).toMatchObject({ status: 'failed', error: { code } })
    expect(responseIn(await socket.ended(2)).status).toBe('completed')
    expect(socket.errors).toEqual([])
  })

  test('that cannot begin is an error with a status, and the connection stays open', async () => {
    const server = await serveOpenAi()
    const socket = connect(server.base)
    socket.send({ model: 'nobody', input: 'text 1' })
    expect(await socket.ended(1)).toMatchObject({ type: 'error', status: 404, error: { code: 'model_not_found' } })
    socket.send({ model: 'lab', input: 'text 1', background: true })
    expect(await socket.ended(2)).toMatchObject({ type: 'error', status: 400, error: { param: 'background' } })
    socket.client.send({ type: 'response.dance' } as unknown as ResponsesClientEvent)
    expect(await socket.ended(3)).toMatchObject({ type: 'error', error: { param: 'type' } })
    socket.send({ model: 'lab', input: 'text 1' })
    expect(responseIn(await socket.ended(4)).status).toBe('completed')
  })
})

describe('OpenAI WebSocket: streams', () => {
  test('requests of one stream_id are answered in order, those of several at the same time', async () => {
    const server = await serveOpenAi()
    const socket = connect(server.base)
    socket.send({ model: 'lab', input: 'text 1; hang', stream_id: 'stuck' })
    socket.send({ model: 'lab', input: 'text 1', stream_id: 'stuck' })
    socket.send({ model: 'lab', input: 'say first', stream_id: 'other' })
    socket.send({ model: 'lab', input: 'say second', stream_id: 'other' })
    socket.send({ model: 'lab', input: 'say third' })
    await socket.ended(3)
    const ends = socket.events.filter(({ type }) => ENDS.includes(type))
    expect(ends.map(({ stream_id: streamId }) => streamId ?? 'none').toSorted((a, b) => a.localeCompare(b))).toEqual([
      'none',
      'other',
      'other',
    ])
    const texts = ends
      .filter(({ stream_id: streamId }) => streamId === 'other')
      .map((event) => JSON.stringify(responseIn(event).output))
    expect(texts).toEqual([expect.stringContaining('first'), expect.stringContaining('second')])
    expect(await runsOf(server)).toHaveLength(4) // the second one of the stuck stream waits
    expect(socket.events.filter(({ stream_id: streamId }) => streamId === 'stuck').map(({ type }) => type)).toContain(
      'response.created',
    )
  })

  test('too many waiting requests are refused', async () => {
    const server = await serveOpenAi()
    const socket = connect(server.base)
    for (let count = 0; count < 20; count++) socket.send({ model: 'lab', input: 'hang', stream_id: 'a' })
    expect(await socket.ended(1)).toMatchObject({ status: 429, error: { code: 'rate_limit_exceeded' }, stream_id: 'a' })
  })
})

describe('OpenAI WebSocket: a conversation', () => {
  const first = { model: 'lab', input: 'say one', store: false }

  test('continues by previous_response_id on the same connection, also if nothing is stored', async () => {
    const server = await serveOpenAi()
    const socket = connect(server.base)
    socket.send(first)
    const { id } = responseIn(await socket.ended(1))
    socket.send({ ...first, previous_response_id: id })
    expect(responseIn(await socket.ended(2)).status).toBe('completed')
    const sessions = (await runsOf(server)).map(({ session }) => session)
    expect(new Set(sessions).size).toBe(1)
  })

  test('that is not stored is unknown to another connection', async () => {
    const server = await serveOpenAi()
    const socket = connect(server.base)
    socket.send(first)
    const { id } = responseIn(await socket.ended(1))
    const another = connect(server.base)
    another.send({ ...first, previous_response_id: id })
    expect(codeIn(await another.ended(1))).toBe('previous_response_not_found')
  })

  test('whose continuation failed is forgotten', async () => {
    const server = await serveOpenAi()
    const socket = connect(server.base)
    socket.send(first)
    const { id } = responseIn(await socket.ended(1))
    const output = { type: 'function_call_output', call_id: 'call_missing', output: 'nobody asked' }
    socket.send({ ...first, previous_response_id: id, input: [output] })
    expect(await socket.ended(2)).toMatchObject({ type: 'error', status: 400, error: { param: 'input' } })
    socket.send({ ...first, previous_response_id: id })
    expect(codeIn(await socket.ended(3))).toBe('previous_response_not_found')
  })

  test('goes on after the client has reconnected, and what it missed can be retrieved', async () => {
    const server = await serveOpenAi()
    const proxy = await startTcpProxy(Number(new URL(server.url).port))
    const socket = connect(`http://127.0.0.1:${proxy.port}/v1`, {
      reconnect: { onReconnecting: () => {}, initialDelay: 20, maxRetries: 50 },
    })
    socket.send({ model: 'lab', input: 'text 5; text 30 every 20' })
    await until('it has text', () => socket.events.some(({ type }) => type === 'response.output_text.delta'))
    const { id } = responseIn(socket.events[0]!)
    const before = socket.events.at(-1)!.sequence_number!
    let reconnected = false
    socket.client.on('reconnected', () => void (reconnected = true))
    proxy.cut()
    await until('it has reconnected', () => reconnected)
    const missed = await fetch(`${server.base}/responses/${id}?stream=true&starting_after=${before}`)
    expect(await missed.text()).toContain('response.completed')
    socket.send({ model: 'lab', input: 'say again', previous_response_id: id })
    expect(responseIn(await socket.ended(1))).toMatchObject({ status: 'completed', previous_response_id: id })
  })
})

describe('POST /v1/responses/compact', () => {
  const compact = async (base: string, body: object): Promise<{ status: number; body: Record<string, never> }> => {
    const response = await fetch(`${base}/responses/compact`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: response.status, body: (await response.json()) as Record<string, never> }
  }

  test('the stock client begins a new chain with a compacted conversation', async () => {
    const server = await serveOpenAi()
    const client = new OpenAI({ baseURL: server.base, apiKey: 'none' })
    const requested = await client.responses.create({ model: 'forecaster', input: 'remember cobalt' })
    const compacted = await client.responses.compact({ model: 'forecaster', previous_response_id: requested.id })
    expect(compacted).toMatchObject({ object: 'response.compaction', output: [{ type: 'compaction' }] })
    const input = [...(compacted.output as never[]), { role: 'user' as const, content: 'and now?' }]
    await client.responses.create({ model: 'forecaster', input })
    const [newest] = await runsOf(server)
    const slice = await server.service.read(localPrincipal, newest!.id, -1)
    const log = new TextDecoder().decode(slice!.bytes)
    expect(log).toContain('remember cobalt')
    expect(log).toContain('and now?')
  })

  test('refuses a request without a model, an empty one, and items that it did not make', async () => {
    const server = await serveOpenAi()
    expect(await compact(server.base, { input: 'text 1' })).toMatchObject({
      status: 400,
      body: { error: { param: 'model' } },
    })
    expect(await compact(server.base, { model: 'lab' })).toMatchObject({ status: 400 })
    const foreign = [{ type: 'compaction', encrypted_content: 'hf1.AAAA' }]
    expect(await compact(server.base, { model: 'lab', input: foreign })).toMatchObject({ status: 400 })
    expect(await compact(server.base, { model: 'lab', previous_response_id: 'resp_none' })).toMatchObject({
      status: 404,
    })
  })
})

test('OpenAI WebSocket: a connection ends at its maximum age, and says so', async () => {
  const server = await serveOpenAi()
  const sockets = new WebSocketServer({ port: 0 })
  onTestFinished(() => sockets.close())
  sockets.on('connection', (socket) => {
    const peer = { principal: localPrincipal, request: { headers: {} }, logger: silentLogger, admit: () => {} }
    void new ResponseSession(socket, server.service, { ...peer, lifetimeMs: 1 })
  })
  const client = new WebSocket(`ws://127.0.0.1:${(sockets.address() as { port: number }).port}`)
  const got: string[] = []
  client.on('message', (data) => got.push((data as Buffer).toString()))
  const code = await new Promise((resolve) => client.on('close', resolve))
  expect(code).toBe(1000)
  expect(got.map((text) => JSON.parse(text) as unknown)).toMatchObject([
    { type: 'error', status: 400, error: { code: 'websocket_connection_limit_reached' } },
  ])
})
