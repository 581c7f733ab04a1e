/** Quotas of a principal, reported in each protocol's form. */
import { join } from 'node:path'
import { type ServiceError, status } from '@grpc/grpc-js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import type { Limits } from '../../src/core/model/limits.ts'
import { freePort } from '../support/free-port.ts'
import { createKeys } from '../support/keys.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { stillClock } from '../support/still-clock.ts'
import { until } from '../support/until.ts'
import { Peer } from './a2a/peer.ts'
import { serveA2a } from './a2a/serve.ts'
import { serveNative } from './native/serve.ts'

async function serveTwo(limits: Partial<Limits>) {
  const path = join(temporaryFolder(), 'keys.json')
  const [anna, bert] = await createKeys(path, ['anna', 'bert'])
  const server = await serveNative({ auth: { keys: path }, limits, clock: stillClock })
  const ask = async (key: string | undefined, path_: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(server.url + path_, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const retryAfter = Number(response.headers.get('retry-after'))
    return { status: response.status, retryAfter, body: text.startsWith('{') ? (JSON.parse(text) as object) : {} }
  }
  return { anna: anna!, bert: bert!, ask, url: server.url }
}

const a2aMessage = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'text 1' }] } }

const starts: readonly (readonly [string, string, unknown, Record<string, string>, object])[] = [
  ['native', '/runs', { component: 'lab', input: 'text 1' }, {}, { code: 'rate_limited' }],
  [
    'OpenAI chat completions',
    '/v1/chat/completions',
    { model: 'lab', messages: [{ role: 'user', content: 'text 1' }] },
    {},
    { error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } },
  ],
  [
    'OpenAI Responses',
    '/v1/responses',
    { model: 'lab', input: 'text 1' },
    {},
    { error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } },
  ],
  ['A2A over REST', '/a2a/lab/message:send', a2aMessage, { 'a2a-version': '1.0' }, { error: { code: 429 } }],
  ['AI SDK UI', '/ai/lab/chat', { messages: [{ role: 'user', parts: [{ type: 'text', text: 'text 1' }] }] }, {}, {}],
]

describe('[SEC-2] starts beyond the rate of a principal', () => {
  test.each(starts)('get 429 with Retry-After: %s', async (_name, path, body, headers, refusal) => {
    const { anna, bert, ask } = await serveTwo({ maxStartsPerSecond: 1, maxStartBurst: 1 })
    const start = { component: 'lab', input: 'text 1' }
    expect((await ask(anna, '/runs', start)).status).toBe(202)
    const refused = await ask(anna, path, body, headers)
    expect(refused).toMatchObject({ status: 429, body: refusal })
    expect(refused.retryAfter).toBeGreaterThan(0)
    expect((await ask(bert, path, body, headers)).status).toBeLessThan(300)
  })
})

test('[SEC-2] requests beyond the rate of a principal are rejected, and those of another are not', async () => {
  const { anna, bert, ask } = await serveTwo({ maxRequestsPerSecond: 1, maxRequestBurst: 3 })
  for (let count = 0; count < 3; count++) expect((await ask(anna, '/runs')).status).toBe(200)
  expect(await ask(anna, '/runs')).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  expect((await ask(bert, '/runs')).status).toBe(200)
  expect((await ask(undefined, '/health')).status).toBe(200)
})

test('[SEC-2] wrong credentials are throttled by address, and credentials known to be right there are not', async () => {
  const { anna, bert, ask } = await serveTwo({ maxAuthFailureBurst: 3 })
  expect((await ask(anna, '/runs')).status).toBe(200)
  for (let count = 0; count < 3; count++) expect((await ask(`hf_wrong${count}`, '/runs')).status).toBe(401)
  const refused = await ask('hf_wrong', '/runs')
  expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  expect(refused.retryAfter).toBeGreaterThan(0)
  expect((await ask(anna, '/runs')).status).toBe(200)
  // The response does not reveal that a guess was right.
  expect((await ask(bert, '/runs')).status).toBe(429)
})

test('[SEC-2] requests are counted by address before authentication, and known credentials are exempt', async () => {
  const { anna, bert, ask } = await serveTwo({ maxRequestsPerSecondPerAddress: 0.01, maxRequestBurstPerAddress: 3 })
  expect((await ask(anna, '/runs')).status).toBe(200)
  expect((await ask(undefined, '/health')).status).toBe(200)
  expect((await ask(undefined, '/no/such/path')).status).toBe(404)
  const refused = await ask(undefined, '/health')
  expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  expect(refused.retryAfter).toBeGreaterThan(0)
  expect((await ask(undefined, '/no/such/path')).status).toBe(429)
  expect((await ask(bert, '/runs')).status).toBe(429) // not known yet
  for (let count = 0; count < 20; count++) expect((await ask(anna, '/runs')).status).toBe(200)
})

test('[SEC-2] gRPC calls and WebSockets are counted by address before authentication', async () => {
  const path = join(temporaryFolder(), 'keys.json')
  const [anna] = await createKeys(path, ['anna'])
  const grpcPort = await freePort()
  const server = await serveA2a({
    auth: { keys: path },
    clock: stillClock,
    limits: { maxRequestsPerSecondPerAddress: 0.01, maxRequestBurstPerAddress: 1 },
    a2a: { defaultComponent: 'lab', grpcPort },
  })
  const peer = new Peer(`127.0.0.1:${grpcPort}`)
  const list = (key: string): Promise<unknown> => peer.call('ListTasks', {}, { authorization: `Bearer ${key}` })
  expect(await list(anna!)).toMatchObject({ totalSize: 0 })
  await expect(list('hf_unknown')).rejects.toMatchObject({ code: status.RESOURCE_EXHAUSTED })
  expect(await list(anna!)).toMatchObject({ totalSize: 0 })
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/agents/ws`)
  onTestFinished(() => socket.terminate())
  const answer = await new Promise<{ statusCode?: number | undefined; headers: object }>((resolve) => {
    socket.once('unexpected-response', (_request, response) => resolve(response))
    socket.once('error', () => {})
  })
  expect(answer.statusCode).toBe(429)
  expect(answer.headers).toMatchObject({ 'retry-after': expect.stringMatching(/^[1-9]\d*$/) as string })
})

test('[SEC-2] a server without authentication has no rate limit for its one principal', async () => {
  const server = await serveNative({
    limits: { maxRequestsPerSecond: 1, maxRequestBurst: 1, maxStartBurst: 1, maxRequestBurstPerAddress: 1 },
  })
  for (let count = 0; count < 20; count++) expect((await fetch(`${server.url}/runs`)).status).toBe(200)
})

test('[SEC-2] gRPC calls count as requests of their principal, and beyond its rate end with RESOURCE_EXHAUSTED', async () => {
  const path = join(temporaryFolder(), 'keys.json')
  const [anna, bert] = await createKeys(path, ['anna', 'bert'])
  const grpcPort = await freePort()
  await serveA2a({
    auth: { keys: path },
    clock: stillClock,
    limits: { maxRequestsPerSecond: 1, maxRequestBurst: 3 },
    a2a: { defaultComponent: 'lab', grpcPort },
  })
  const peer = new Peer(`127.0.0.1:${grpcPort}`)
  const list = (key: string | undefined): Promise<unknown> =>
    peer.call('ListTasks', {}, { authorization: `Bearer ${key}` })
  for (let count = 0; count < 3; count++) expect(await list(anna)).toMatchObject({ totalSize: 0 })
  const refusal = await list(anna).catch((cause: ServiceError) => cause)
  expect(refusal).toMatchObject({ code: status.RESOURCE_EXHAUSTED })
  expect(Number((refusal as ServiceError).metadata.get('retry-after')[0])).toBeGreaterThan(0)
  expect(await list(bert)).toMatchObject({ totalSize: 0 })
})

test('[SEC-2] gRPC calls with wrong credentials are throttled by address', async () => {
  const path = join(temporaryFolder(), 'keys.json')
  await createKeys(path, ['anna'])
  const grpcPort = await freePort()
  await serveA2a({
    auth: { keys: path },
    clock: stillClock,
    limits: { maxAuthFailureBurst: 2 },
    a2a: { defaultComponent: 'lab', grpcPort },
  })
  const peer = new Peer(`127.0.0.1:${grpcPort}`)
  const codes: number[] = []
  for (let count = 0; count < 3; count++)
    await peer
      .call('ListTasks', {}, { authorization: `Bearer hf_wrong${count}` })
      .catch((cause: ServiceError) => codes.push(cause.code))
  expect(codes).toEqual([status.UNAUTHENTICATED, status.UNAUTHENTICATED, status.RESOURCE_EXHAUSTED])
})

test('[SEC-2] WebSocket logins with wrong credentials are throttled by address, and a known credential is not', async () => {
  const { anna, bert, ask, url } = await serveTwo({ maxAuthFailureBurst: 3 })
  const refused = { event: 'error', error_type: 'rate_limited', retry_after: expect.any(Number) as number }
  const wrong = { event: 'auth_error', error_type: 'unauthenticated' }
  expect(await login(url, [anna])).toMatchObject([{ event: 'authenticated' }])
  expect(await login(url, ['hf_wrong1', 'hf_wrong2'])).toMatchObject([wrong, wrong])
  expect(await login(url, ['hf_wrong3'])).toMatchObject([wrong])
  expect(await login(url, ['hf_wrong4'])).toMatchObject([refused])
  expect(await login(url, [bert])).toMatchObject([refused]) // an answer does not tell that a guess was right
  expect(await login(url, [anna])).toMatchObject([{ event: 'authenticated' }])
  // One count for all protocols.
  expect((await ask('hf_wrong5', '/runs')).status).toBe(429)
})

test('[SEC-2] a WebSocket is closed after a few logins, also when they are throttled', async () => {
  const { ask, url } = await serveTwo({ maxAuthFailureBurst: 1 })
  expect((await ask('hf_wrong', '/runs')).status).toBe(401)
  const answers = await login(
    url,
    Array.from({ length: 50 }, (_, at) => `hf_guess${at}`),
  )
  expect(answers).toHaveLength(5)
})

/** Shows one token after the other on one WebSocket; returns the answers that come before it is closed. */
async function login(url: string, tokens: readonly string[]): Promise<Record<string, unknown>[]> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/agents/ws`)
  onTestFinished(() => socket.terminate())
  const seen: Record<string, unknown>[] = []
  let closed = false
  socket.on('message', (data: Buffer) => seen.push(JSON.parse(data.toString()) as Record<string, unknown>))
  socket.on('close', () => (closed = true))
  await until('it is open', () => seen.length === 1)
  for (const [at, token] of tokens.entries()) {
    socket.send(JSON.stringify({ action: 'authenticate', token }))
    await until('it is answered or closed', () => seen.length === at + 2 || closed)
    if (closed) break
  }
  return seen.slice(1)
}

test('[SEC-2] messages on a WebSocket count as requests of its principal, and beyond its rate get an error', async () => {
  const path = join(temporaryFolder(), 'keys.json')
  const [anna] = await createKeys(path, ['anna'])
  const server = await serveNative({
    auth: { keys: path },
    clock: stillClock,
    limits: { maxRequestsPerSecond: 1, maxRequestBurst: 3 },
  })
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/agents/ws`)
  onTestFinished(() => socket.terminate())
  const seen: Record<string, unknown>[] = []
  socket.on('message', (data: Buffer) => seen.push(JSON.parse(data.toString()) as Record<string, unknown>))
  socket.on('open', () => socket.send(JSON.stringify({ action: 'authenticate', token: anna })))
  await until('it is authenticated', () => seen.some(({ event }) => event === 'authenticated'))
  for (let count = 0; count < 6; count++) socket.send(JSON.stringify({ action: 'ping' }))
  const refusal = await until('a message is refused', () => seen.find(({ event }) => event === 'error'))
  expect(refusal).toMatchObject({ error_type: 'rate_limited', retry_after: expect.any(Number) as number })
  expect(seen.filter(({ event }) => event === 'pong').length).toBeGreaterThanOrEqual(3)
})
