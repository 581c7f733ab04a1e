/** Pages of other sites, and hostile connections: refused or closed, and the server survives. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Server as HttpServer } from 'node:http'
import { describe, expect, test } from 'vitest'
import { createKey } from '../../../src/server/auth/api-keys.ts'
import { call, followRun, getRun, startRun, untilStatus } from '../../support/http.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'
import { expectGoesOn } from './hostile.ts'
import { exchange, open, requestText, statusOf } from './raw.ts'
import { type NativeServer, serveNative } from './serve.ts'
import type { RunPage } from './shapes.ts'

describe('native: a page of another site', () => {
  test.each([
    'evil.example',
    'evil.example:7777',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil-localhost',
    '192.168.0.1',
    '[::2]',
    'localhost:x',
    '@localhost',
  ])('cannot reach a server without authentication by the name %j, rebound to this machine', async (host) => {
    const server = await serveNative()
    for (const line of ['GET /components', 'GET /health', 'POST /runs', 'DELETE /runs/x']) {
      const answer = await exchange(server.port, requestText(line, { Host: host, Connection: 'close' }))
      expect([400, 403], line).toContain(statusOf(answer))
    }
    await expectGoesOn(server)
  })

  test.each([
    'localhost',
    'localhost:7777',
    'LOCALHOST',
    '127.0.0.1',
    '127.0.0.1:80',
    '127.1.2.3',
    '[::1]',
    '[::1]:7777',
    'agents.localhost',
    'agents.localhost:7777',
  ])('the host name %j is not taken for another site', async (host) => {
    const server = await serveNative()
    expect(
      statusOf(await exchange(server.port, requestText('GET /components', { Host: host, Connection: 'close' }))),
    ).toBe(200)
  })

  test('may use any host name if authentication is on', async () => {
    const keys = `${temporaryFolder()}/keys.json`
    const { key } = await createKey(keys, { name: 'ci' })
    const server = await serveNative({ auth: { keys } })
    const headers = { Host: 'agents.example', Authorization: `Bearer ${key}`, Connection: 'close' }
    expect(statusOf(await exchange(server.port, requestText('GET /components', headers)))).toBe(200)
  })

  test.each([
    'http://evil.example',
    'https://localhost.evil.example',
    'null',
    'http://localhost:1',
    'file://',
    'chrome-extension://x',
    'nonsense',
  ])('cannot change anything: Origin %s', async (origin) => {
    const server = await serveNative()
    const { id } = await startRun(server, 'ask Go on?')
    await untilStatus(server, id, ['paused'])
    for (const [method, path, body] of [
      ['POST', '/runs', { component: 'lab', input: '' }],
      ['POST', `/runs/${id}/stop`, undefined],
      ['POST', `/runs/${id}/answers`, { answer: 1 }],
      ['DELETE', `/runs/${id}`, undefined],
    ] as const) {
      const answer = await call(server, method, path, { headers: { origin }, ...(body !== undefined && { body }) })
      expect(answer, path).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    }
    expect(await getRun(server, id)).toMatchObject({ status: 'paused' })
    const { body } = await call<RunPage>(server, 'GET', '/runs')
    expect(body.runs).toHaveLength(1)
  })

  test('may read, which the browser hides from it', async () => {
    const server = await serveNative()
    const { status, headers } = await call(server, 'GET', '/runs', { headers: { origin: 'http://evil.example' } })
    expect(status).toBe(200)
    expect(headers.get('access-control-allow-origin')).toBeNull()
  })

  test('a page of this server is not taken for another site', async () => {
    const server = await serveNative()
    const answer = await call(server, 'POST', '/runs', {
      body: { component: 'lab', input: '' },
      headers: { origin: server.url },
    })
    expect(answer.status).toBe(202)
  })
})

describe('native: a connection', () => {
  test('may pipeline requests, which are answered in order', async () => {
    const server = await serveNative()
    const body = '{"component":"lab","input":""}'
    const start = requestText(
      'POST /runs',
      { 'Content-Type': 'application/json', 'Content-Length': String(body.length) },
      body,
    )
    const all = [
      requestText('GET /nowhere'),
      start,
      requestText('DELETE /runs'),
      start,
      requestText('GET /health', { Connection: 'close' }),
    ]
    const answer = await exchange(server.port, all.join(''))
    expect([...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status)).toEqual([
      '404',
      '202',
      '405',
      '202',
      '200',
    ])
  })

  test('may be reset at any moment', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 1000 every 1')
    const body = '{"component":"lab","input":""}'
    const post = requestText(
      'POST /runs',
      { 'Content-Type': 'application/json', 'Content-Length': String(body.length) },
      body,
    )
    const stream = requestText(`GET /runs/${id}/events`)
    const poll = requestText(`GET /runs/${id}/events?format=json&wait=10000&after=0`)
    const cuts = [post, stream, poll].flatMap((bytes) =>
      [1, Math.floor(bytes.length / 2), bytes.length - 1, bytes.length].map((length) => bytes.slice(0, length)),
    )
    await Promise.all(
      cuts.map(async (bytes) => {
        const socket = open(server.port)
        socket.on('error', () => {}) // it is we who reset
        await new Promise((resolve) => socket.write(bytes, resolve))
        await call(server, 'GET', '/health') // another connection is answered, so this one was very likely read
        socket.resetAndDestroy()
      }),
    )
    await until('all subscribers are gone', () => server.service.health().subscribers === 0)
    await expectGoesOn(server)
  })

  test('a connection beyond the limit is rejected, and accepted again when one is free', async () => {
    const server = await serveNative({ limits: { maxConnections: 3 } })
    const held = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const socket = open(server.port)
        socket.write(requestText('GET /health'))
        await new Promise((resolve) => socket.once('data', resolve))
        return socket
      }),
    )
    expect(await exchange(server.port, requestText('GET /health', { Connection: 'close' }))).toBe('')
    held[0]!.destroy()
    const status = async () =>
      statusOf(await exchange(server.port, requestText('GET /health', { Connection: 'close' }))) === 200
    await until('there is room again', status)
    for (const socket of held) socket.destroy()
  })

  test('the listener has timeouts for request headers and whole requests', async () => {
    const server = await serveNative()
    const { headersTimeout, requestTimeout } = await listenerOf(server)
    expect(headersTimeout).toBeGreaterThan(0)
    expect(headersTimeout).toBeLessThanOrEqual(60_000)
    expect(requestTimeout).toBeGreaterThan(0)
    expect(requestTimeout).toBeLessThanOrEqual(300_000)
  })

  test('[SUB-1] a subscriber beyond the limit per run gets 429, and another run is unaffected', async () => {
    const server = await serveNative({ limits: { maxSubscribersPerRun: 2 } })
    const { id } = await startRun(server, 'hang')
    const other = await startRun(server, 'hang')
    const streams = [followRun(server, id), followRun(server, id)]
    for (const stream of streams) expect(await stream.status()).toBe(200)
    for (const path of ['/events', '/events?format=ndjson', '/events?format=json&after=1&wait=10000']) {
      const answer = await call(server, 'GET', `/runs/${id}${path}`)
      expect(answer, path).toMatchObject({ status: 429, body: { code: 'rate_limited', retryable: true } })
      expect(answer.headers.get('retry-after')).toBe('1')
    }
    const stream = followRun(server, other.id)
    expect(await stream.status()).toBe(200)
    streams[0]!.cut()
    await until('there is room again', async () => {
      const again = followRun(server, id)
      const status = await again.status()
      again.cut()
      return status === 200
    })
    for (const each of [...streams, stream]) each.cut()
  })
})

/** Node's own server behind ours. */
async function listenerOf(server: NativeServer): Promise<HttpServer> {
  const listeners: HttpServer[] = []
  const note = (message: unknown): void => void listeners.push((message as { server: HttpServer }).server)
  subscribe('http.server.request.start', note)
  await expectGoesOn(server)
  unsubscribe('http.server.request.start', note)
  return listeners[0]!
}
