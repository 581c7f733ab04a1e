/** Every kind of refusal in every protocol: status or code and retry delay, in the protocol's own form. */
import { join } from 'node:path'
import { status as codes } from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import type { Limits } from '../../src/core/model/limits.ts'
import { freePort } from '../support/free-port.ts'
import { call, followRun, startRun, type Target, untilStatus } from '../support/http.ts'
import { createKeys } from '../support/keys.ts'
import { stillClock } from '../support/still-clock.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { Peer } from './a2a/peer.ts'
import { serveA2a } from './a2a/serve.ts'
import { type Refusal, type Served, ways } from './refusals.ts'

async function serve(limits: Partial<Limits>): Promise<Served> {
  const path = join(temporaryFolder(), 'keys.json')
  const [key] = await createKeys(path, ['anna'])
  const grpcPort = await freePort()
  const server = await serveA2a({
    auth: { keys: path },
    clock: stillClock,
    limits,
    a2a: { defaultComponent: 'lab', grpcPort },
  })
  return { url: server.url, grpc: `127.0.0.1:${grpcPort}`, key: key! }
}

const target = ({ url, key }: Served): Target => ({ url, token: key })

interface Kind {
  readonly limits: Partial<Limits>
  /** Uses up a limited resource. */
  readonly prepare?: (served: Served) => Promise<unknown>
  readonly text?: string
  readonly stream?: boolean
  /** Number of runs afterwards: a refused start creates none. */
  readonly runs: number
}

const kinds = {
  'the queue is full': {
    limits: { maxConcurrentRuns: 1, maxQueuedRuns: 2 },
    prepare: async (served) => {
      for (let count = 0; count < 2; count++) await startRun(target(served), 'hang')
    },
    runs: 2,
  },
  'starts come too fast': {
    limits: { maxStartsPerSecond: 0.01, maxStartBurst: 1 },
    prepare: (served) => startRun(target(served), 'text 1'),
    runs: 1,
  },
  'too many streams are open': {
    limits: { maxStreamsPerPrincipal: 1 },
    prepare: async (served) => {
      const { id } = await startRun(target(served), 'text 1; hang')
      await untilStatus(target(served), id, ['running'])
      expect(await followRun(target(served), id).status()).toBe(200)
    },
    stream: true,
    runs: 1,
  },
  'the body is too large': { limits: { maxBodyBytes: 5000 }, text: 'x'.repeat(10_000), runs: 0 },
  'too much is stored': {
    limits: { maxStoredBytesPerPrincipal: 1 },
    prepare: (served) => startRun(target(served), 'text 1'),
    runs: 1,
  },
} as const satisfies Record<string, Kind>

const later = { retryAfter: expect.any(Number) as number }
const retryInfo = [
  {
    '@type': 'type.googleapis.com/google.rpc.RetryInfo',
    retryDelay: expect.stringMatching(/^[1-9]\d*s$/) as string,
  },
]

type Forms = Readonly<Record<keyof typeof ways, Refusal>>

/** The form of an event that ends a stream. */
const agUi = (status: number, code: string): Refusal => ({
  status,
  code,
  body: { type: 'RUN_ERROR', message: expect.any(String) as string, code },
})

/** The AI SDK shows the body to the user, so the code is in a header. */
const aiSdk = (status: number, code: string): Refusal => ({ status, code, body: expect.stringMatching(/^[a-z0-9]/) })

/** Refusals after the request was read. Earlier ones also have an HTTP status. */
const mcp = (code: number, named: string, status = 200): Refusal => ({
  status,
  body: { jsonrpc: '2.0', error: { code, data: { code: named } } },
})

/** The transport has no place for a code or a time in the errors of a stream. */
const aiSdkFrame: Refusal = {
  body: { type: 'error', requestId: 'r1', errorText: expect.stringMatching(/^[a-z0-9]/) as string },
}

const openAi = (status: number, type: string, code: string): Refusal => ({ status, body: { error: { type, code } } })

const tooMany: Forms = {
  native: { status: 429, ...later, body: { status: 429, code: 'rate_limited', retryable: true } },
  'AgentOS REST': { status: 429, ...later, body: { error_code: 'rate_limited', detail: expect.any(String) as string } },
  'AgentOS WebSocket': { ...later, body: { event: 'error', error_type: 'rate_limited' } },
  'OpenAI chat completions': { ...openAi(429, 'rate_limit_error', 'rate_limit_exceeded'), ...later },
  'OpenAI Responses': { ...openAi(429, 'rate_limit_error', 'rate_limit_exceeded'), ...later },
  'AG-UI': { ...agUi(429, 'rate_limited'), ...later },
  MCP: { ...mcp(-32_000, 'rate_limited'), ...later },
  'AI SDK UI': { ...aiSdk(429, 'rate_limited'), ...later },
  'AI SDK WebSocket': aiSdkFrame,
  'A2A 1.0 JSON-RPC': { status: 200, ...later, body: { error: { code: -32_000, data: retryInfo } } },
  'A2A 0.3 JSON-RPC': { status: 200, ...later, body: { error: { code: -32_000, data: retryInfo } } },
  'A2A 1.0 REST': {
    status: 429,
    ...later,
    body: { error: { code: 429, status: 'RESOURCE_EXHAUSTED', details: retryInfo } },
  },
  'A2A 0.3 REST': { status: 429, ...later, body: { code: -32_000 } },
  'A2A 1.0 gRPC': { ...later, body: { code: 'RESOURCE_EXHAUSTED' } },
  'A2A 0.3 gRPC': { ...later, body: { code: 'RESOURCE_EXHAUSTED' } },
}

const tooLarge: Forms = {
  native: { status: 413, body: { status: 413, code: 'too_large', retryable: false } },
  'AgentOS REST': { status: 413, body: { error_code: 'too_large', detail: expect.any(String) as string } },
  'AgentOS WebSocket': { body: { event: 'closed', code: 1009 } },
  'OpenAI chat completions': openAi(413, 'invalid_request_error', 'request_too_large'),
  'OpenAI Responses': openAi(413, 'invalid_request_error', 'request_too_large'),
  'AG-UI': agUi(413, 'too_large'),
  MCP: mcp(-32_602, 'too_large'),
  'AI SDK UI': aiSdk(413, 'too_large'),
  'AI SDK WebSocket': { body: { type: 'closed', code: 1009 } },
  'A2A 1.0 JSON-RPC': { status: 200, body: { error: { code: -32_602 } } },
  'A2A 0.3 JSON-RPC': { status: 200, body: { error: { code: -32_602 } } },
  'A2A 1.0 REST': { status: 413, body: { error: { code: 413, status: 'INVALID_ARGUMENT' } } },
  'A2A 0.3 REST': { status: 413, body: { code: -32_602 } },
  'A2A 1.0 gRPC': { body: { code: 'RESOURCE_EXHAUSTED' } },
  'A2A 0.3 gRPC': { body: { code: 'RESOURCE_EXHAUSTED' } },
}

const tooMuchStored: Forms = {
  native: { status: 507, body: { status: 507, code: 'quota_exceeded', retryable: false } },
  'AgentOS REST': { status: 507, body: { error_code: 'quota_exceeded', detail: expect.any(String) as string } },
  'AgentOS WebSocket': { body: { event: 'error', error_type: 'quota_exceeded' } },
  'OpenAI chat completions': openAi(507, 'insufficient_quota', 'insufficient_quota'),
  'OpenAI Responses': openAi(507, 'insufficient_quota', 'insufficient_quota'),
  'AG-UI': agUi(507, 'quota_exceeded'),
  MCP: mcp(-32_000, 'quota_exceeded'),
  'AI SDK UI': aiSdk(507, 'quota_exceeded'),
  'AI SDK WebSocket': aiSdkFrame,
  'A2A 1.0 JSON-RPC': { status: 200, body: { error: { code: -32_000 } } },
  'A2A 0.3 JSON-RPC': { status: 200, body: { error: { code: -32_000 } } },
  'A2A 1.0 REST': { status: 507, body: { error: { code: 507, status: 'RESOURCE_EXHAUSTED' } } },
  'A2A 0.3 REST': { status: 507, body: { code: -32_000 } },
  'A2A 1.0 gRPC': { body: { code: 'RESOURCE_EXHAUSTED' } },
  'A2A 0.3 gRPC': { body: { code: 'RESOURCE_EXHAUSTED' } },
}

/** Before the handshake, an HTTP status has the reason why a chat's WebSocket is refused. */
const byHandshake: Forms = { ...tooMany, 'AI SDK WebSocket': { status: 429, ...later, body: '' } }

const forms: Readonly<Record<keyof typeof kinds, Forms>> = {
  'the queue is full': tooMany,
  'starts come too fast': tooMany,
  'too many streams are open': byHandshake,
  'the body is too large': tooLarge,
  'too much is stored': tooMuchStored,
}

describe.each(Object.entries<Kind>(kinds))('[SEC-2] %s', (kind, { limits, prepare, text, stream = false, runs }) => {
  test.each(Object.keys(ways))('the rejection has the format of %s, and nothing starts', async (way) => {
    const served = await serve(limits)
    await prepare?.(served)
    const refusal = await ways[way]!(served, { text: text ?? 'text 1', stream })
    const expected = forms[kind as keyof typeof forms][way]!
    expect(refusal).toMatchObject(expected)
    expect((refusal.retryAfter ?? 0) > 0).toBe(expected.retryAfter !== undefined)
    const { body } = await call<{ runs: object[] }>(target(served), 'GET', '/runs')
    expect(body.runs).toHaveLength(runs)
  })
})

/** Before the body is read, the protocol version is unknown, so the refusal is plain HTTP. */
function earlyOf(way: string): Refusal {
  if (way === 'MCP') return mcp(-32_000, 'rate_limited', 429)
  return /JSON-RPC|0.3 REST/.test(way) ? tooMany['A2A 1.0 REST']! : byHandshake[way]!
}

describe('[SEC-2] requests beyond the rate limit', () => {
  test.each(Object.keys(ways))('are reported in the format of %s', async (way) => {
    const served = await serve({ maxRequestsPerSecond: 0.01, maxRequestBurst: 1 })
    expect((await call(target(served), 'GET', '/runs')).status).toBe(200)
    const refusal = await ways[way]!(served, { text: 'text 1', stream: false })
    const early = earlyOf(way)
    expect(refusal).toMatchObject({ ...early, ...later })
  })
})

/** Authentication precedes reading, so it fails with an HTTP status; a WebSocket is refused before its upgrade (quotas.test.ts). */
const byHttp = Object.keys(ways).filter((way) => way !== 'AgentOS WebSocket')

describe.each<[string, Partial<Limits>]>([
  ['an address sends too many requests', { maxRequestsPerSecondPerAddress: 0.01, maxRequestBurstPerAddress: 1 }],
  ['an address shows too many wrong credentials', { maxAuthFailureBurst: 1 }],
])('[SEC-2] %s', (_kind, limits) => {
  test.each(byHttp)('the rejection has the format of %s', async (way) => {
    const served = await serve(limits)
    const start = { text: 'text 1', stream: false }
    const guess = (count: number): Promise<Refusal> => ways[way]!({ ...served, key: `hf_wrong${count}` }, start)
    expect(JSON.stringify(await guess(1))).toMatch(/401|UNAUTHENTICATED/)
    const early = earlyOf(way)
    expect(await guess(2)).toMatchObject({ ...early, ...later })
  })
})

test('[SEC-2] A2A: a webhook beyond the limit per task is rejected in the format of REST and gRPC', async () => {
  const served = await serve({ maxWebhooksPerTask: 1 })
  const { id } = await startRun(target(served), 'hang')
  const webhook = (name: string): object => ({ taskId: id, id: name, url: 'https://example.com/hook' })
  const create = (name: string) =>
    call(target(served), 'POST', `/a2a/lab/tasks/${id}/pushNotificationConfigs`, {
      body: webhook(name),
      headers: { 'a2a-version': '1.0' },
    })
  expect((await create('a')).status).toBe(200)
  expect(await create('b')).toMatchObject({
    status: 507,
    body: { error: { code: 507, status: 'RESOURCE_EXHAUSTED' } },
  })
  const metadata = { authorization: `Bearer ${served.key}` }
  const refused = new Peer(served.grpc).call('CreateTaskPushNotificationConfig', webhook('c'), metadata)
  await expect(refused).rejects.toMatchObject({ code: codes.RESOURCE_EXHAUSTED })
})

test('[SEC-2] refusals: each protocol accepts the same start without the limit', async () => {
  const served = await serve({})
  for (const [way, ask] of Object.entries(ways)) {
    const { status = 200, body } = await ask(served, { text: 'text 1', stream: false })
    expect([200, 202], way).toContain(status)
    expect(JSON.stringify(body), way).not.toMatch(/"error":[^n]|"code":/)
  }
  const { body } = await call<{ runs: object[] }>(target(served), 'GET', '/runs')
  expect(body.runs).toHaveLength(Object.keys(ways).length)
})
