/** Store errors name addresses, files and statements: they are logged, and no protocol sends them to clients. */
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { storeUnavailable } from '../../src/core/model/errors.ts'
import { silentLogger } from '../../src/core/ports/logger.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { overriding } from '../../src/testing/broken-stores.ts'
import { freePort } from '../support/free-port.ts'
import { call } from '../support/http.ts'
import { until } from '../support/until.ts'
import { Peer } from './a2a/peer.ts'
import { message, serveA2a, type A2aServer } from './a2a/serve.ts'

const RAW = 'connect ECONNREFUSED 10.1.2.3:5432 (user postgres)'
const SHOWN = 'the store is unavailable'

interface Broken {
  readonly server: A2aServer
  readonly peer: Peer
  /** What was logged, as text. */
  readonly logged: () => string
}

/** A server with an unavailable store that still reports itself healthy. */
async function serveBroken(): Promise<Broken> {
  const kept = createMemoryStore()
  let isGone = false
  const failing =
    <Given extends unknown[], Result>(work: (...given: Given) => Promise<Result>) =>
    (...given: Given): Promise<Result> =>
      isGone ? Promise.reject(storeUnavailable(RAW, { cause: new Error(RAW), retryAfterMs: 1000 })) : work(...given)
  const documents = overriding(
    kept.documents as unknown as Store,
    {
      get: failing(kept.documents.get.bind(kept.documents)),
      list: failing(kept.documents.list.bind(kept.documents)),
      put: failing(kept.documents.put.bind(kept.documents)),
    } as never,
  ) as unknown as Store['documents']
  const store = overriding(kept, {
    create: failing(kept.create.bind(kept)),
    get: failing(kept.get.bind(kept)),
    list: failing(kept.list.bind(kept)),
    read: failing(kept.read.bind(kept)),
    health: () => (isGone ? { ok: false, reason: RAW } : { ok: true }),
    documents,
  })
  const lines: string[] = []
  const note = (fields: object, text?: string): void => {
    const { err } = fields as { err?: Error }
    lines.push(`${JSON.stringify(fields)} ${err?.message ?? ''} ${text ?? ''}`)
  }
  const grpcPort = await freePort()
  const logger = { ...silentLogger, warn: note, error: note }
  const server = await serveA2a({ store, logger, a2a: { defaultComponent: 'lab', grpcPort } })
  isGone = true
  return { server, peer: new Peer(`127.0.0.1:${grpcPort}`), logged: () => lines.join('\n') }
}

const rpc = { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'run_1' } }

test.each([
  ['native', 'GET', '/runs/run_1', undefined, 503],
  ['native', 'POST', '/runs', { component: 'lab', input: 'text 1' }, 503],
  ['AgentOS', 'GET', '/sessions/one', undefined, 503],
  ['AgentOS', 'GET', '/agents/lab/runs/run_1?session_id=one', undefined, 503],
  ['OpenAI', 'GET', '/v1/responses/resp_1', undefined, 503],
  ['OpenAI', 'POST', '/v1/chat/completions', { model: 'lab', messages: [{ role: 'user', content: 'text 1' }] }, 503],
  ['A2A', 'GET', '/a2a/lab/tasks/run_1', undefined, 503],
  ['A2A JSON-RPC', 'POST', '/a2a/lab', rpc, 200],
  ['AI SDK UI', 'GET', '/ai/lab/chat/run_1/stream', undefined, 503],
  ['console', 'GET', '/console/api/runs', undefined, 503],
])('%s: %s %s hides the store’s error text', async (_protocol, method, path, body, expected) => {
  const { server, logged } = await serveBroken()
  const answer = await call(server, method, path, { body, headers: { 'a2a-version': '1.0' } })
  const text = JSON.stringify(answer.body)
  expect([answer.status, text]).toEqual([expected, expect.stringContaining(SHOWN)])
  expect(text).not.toContain('10.1.2.3')
  expect(logged()).toContain(RAW)
})

test('gRPC: a call hides the store’s error text', async () => {
  const { peer, logged } = await serveBroken()
  const refusal = await peer.call('SendMessage', { message: message('text 1') }).catch((cause: Error) => cause)
  expect(refusal).toMatchObject({ message: expect.stringContaining(SHOWN) as string })
  expect(JSON.stringify(refusal)).not.toContain('10.1.2.3')
  expect(logged()).toContain(RAW)
})

test('WebSocket: a message hides the store’s error text', async () => {
  const { server, logged } = await serveBroken()
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/agents/ws`)
  onTestFinished(() => socket.terminate())
  const seen: string[] = []
  socket.on('message', (data: Buffer) => seen.push(data.toString()))
  socket.on('open', () => socket.send(JSON.stringify({ action: 'start-agent', agent_id: 'lab', message: 'text 1' })))
  const error = await until('the error was seen', () => seen.find((text) => text.includes('"error"')))
  expect(error).toContain(SHOWN)
  expect(error).not.toContain('10.1.2.3')
  expect(logged()).toContain(RAW)
})

test('health: shows no address, and the log says why the store is unavailable', async () => {
  const { server, logged } = await serveBroken()
  for (const path of ['/health', '/health/ready', '/health'])
    expect(await call(server, 'GET', path)).toMatchObject({
      status: 503,
      body: { store: { ok: false, reason: SHOWN } },
    })
  expect(logged().split(RAW)).toHaveLength(2)
})
