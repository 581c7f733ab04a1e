/** Hostile headers, paths and queries are refused, and the server survives. */
import { Agent, request as httpRequest } from 'node:http'
import { describe, expect, test } from 'vitest'
import { problemShape } from '../../../src/protocols/native/wire/shapes.ts'
import { call, followRun, startRun, untilFinished } from '../../support/http.ts'
import { expectGoesOn, HEADER_BYTES_MAX, narrow } from './hostile.ts'
import { exchange, open, requestText, statusOf } from './raw.ts'
import { type NativeServer, serveNative } from './serve.ts'

describe('native: a request head', () => {
  test.each<[string, string, number]>([
    ['with a header over the bound', requestText('GET /health', { 'X-Long': 'x'.repeat(HEADER_BYTES_MAX) }), 431],
    ['with many headers over the bound', requestText('GET /health', manyHeaders(1000)), 431],
    ['with a path over the bound', requestText(`GET /${'x'.repeat(HEADER_BYTES_MAX)}`), 431],
    ['without a Host', 'GET /health HTTP/1.1\r\n\r\n', 400],
    ['with a bare line feed in a value', requestText('GET /health', { 'X-Bad': 'a\rb' }), 400],
    ['with a NUL in a value', requestText('GET /health', { 'X-Bad': 'a\0b' }), 400],
    ['with a blank before the colon', 'GET /health HTTP/1.1\r\nHost: localhost\r\nX-Bad : a\r\n\r\n', 400],
    ['with two lengths', requestText('POST /runs', { 'Content-Length': '5', 'content-length': '6' }, 'hello'), 400],
    [
      'with a length and chunks',
      requestText('POST /runs', { 'Content-Length': '5', 'Transfer-Encoding': 'chunked' }, '0\r\n\r\n'),
      400,
    ],
    ['with a length that is none', requestText('POST /runs', { 'Content-Length': '-1' }), 400],
    ['with a chunk size that is none', requestText('POST /runs', { 'Transfer-Encoding': 'chunked' }, 'zz\r\n'), 400],
    ['of another protocol', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['of no protocol', 'hello there\r\n\r\n', 400],
    ['of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['with a method that is none', requestText('DESTROY /runs'), 400],
  ])('a request head %s is rejected', async (_name, bytes, status) => {
    const server = await serveNative({ limits: narrow })
    expect(statusOf(await exchange(server.port, bytes))).toBe(status)
    await expectGoesOn(server)
  })

  test.each<[string, string]>([
    ['random bytes', Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 7919) % 256)).toString('latin1')],
    ['a CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n'],
    ['nothing but line breaks', '\r\n'.repeat(10_000)],
  ])('a request head of %s costs at most its connection', async (_name, bytes) => {
    const server = await serveNative({ limits: narrow })
    const socket = open(server.port)
    socket.on('error', () => {}) // reset is an answer, too
    socket.end(Buffer.from(bytes, 'latin1'))
    socket.resume()
    await new Promise((resolve) => socket.once('close', resolve))
    await expectGoesOn(server)
  })

  test('a request head with an unsupported upgrade is answered as if without', async () => {
    const server = await serveNative({ limits: narrow })
    const head = requestText('GET /health', { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Key': 'x' })
    expect(statusOf(await exchange(server.port, head, { until: (text) => text.includes('"status":"ok"') }))).toBe(200)
  })

  test('a request head with an unknown expectation is rejected', async () => {
    const server = await serveNative({ limits: narrow })
    expect(
      statusOf(await exchange(server.port, requestText('POST /runs', { Expect: 'the-moon', Connection: 'close' }))),
    ).toBe(417)
  })
})

describe('native: a request path', () => {
  test.each([
    '/runs/%00',
    '/runs/a%00b',
    '/runs/%0d%0aSet-Cookie:%20a=b',
    '/runs/%E2%80%AE',
    '/runs/%2e%2e%2f%2e%2e%2fetc%2fpasswd',
    '/runs/..%2f..%2fetc%2fpasswd',
    '/runs/..%5c..%5cwindows',
    '/runs/%252e%252e/x',
    '/runs/%',
    '/runs/%zz',
    '/runs/%C0%AF',
    '/runs/%ED%A0%80',
    '/runs/__proto__',
    '/runs/constructor',
    "/runs/'%20OR%20'1'='1",
    '/runs/%25%25',
    `/runs/${'x'.repeat(5000)}`,
    '/../../../etc/passwd',
    '/runs/../../etc/passwd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/runs/.',
    '/./runs/x',
  ])('%j gets a one-line 404', async (path) => {
    const server = await serveNative({ store: 'sqlite' })
    for (const suffix of ['', '/events', '/events?format=json']) {
      const answer = await exchange(server.port, requestText(`GET ${path}${suffix}`, { Connection: 'close' }))
      expect([400, 404]).toContain(statusOf(answer))
      const [head, body] = answer.split('\r\n\r\n')
      expect(head!.toLowerCase()).not.toContain('set-cookie')
      expect(problemShape.parse(JSON.parse(body!)).detail.length).toBeLessThan(500)
    }
    await expectGoesOn(server)
  })

  test.each([
    '//evil.example/health',
    '/\\evil.example/health',
    '///health',
    '/runs/../health',
    '/runs/%2e%2e/health',
    '/health/.',
  ])('%s is taken literally, not normalized as a browser would', async (path) => {
    const server = await serveNative()
    expect(statusOf(await exchange(server.port, requestText(`GET ${path}`, { Connection: 'close' })))).toBe(404)
  })

  test.each(['health', '?x', '*', 'http://[', 'http://', 'file:///etc/passwd'])(
    '%j is not a path, and is rejected',
    async (target) => {
      const server = await serveNative()
      const status = statusOf(await exchange(server.port, requestText(`GET ${target}`, { Connection: 'close' })))
      expect([400, 404]).toContain(status)
      await expectGoesOn(server)
    },
  )

  test('an absolute URL, as to a proxy, is routed by its path', async () => {
    const server = await serveNative()
    const answer = await exchange(server.port, requestText('GET http://localhost/health', { Connection: 'close' }))
    expect(statusOf(answer)).toBe(200)
  })

  test('may be percent-encoded where it need not be', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, '')
    const encoded = Array.from(id, (character) => `%${character.charCodeAt(0).toString(16)}`).join('')
    expect(await call(server, 'GET', `/runs/${encoded}`)).toMatchObject({ status: 200, body: { id } })
  })
})

describe('native: a query', () => {
  test.each<[string, string]>([
    ['a long value', `component=${'x'.repeat(6000)}`],
    ['many parameters', Array.from({ length: 700 }, (_, index) => `p${index}=1`).join('&')],
    ['one parameter many times', Array.from({ length: 500 }, () => 'status=failed').join('&')],
    ['a list that is long', `status=${Array.from({ length: 800 }, () => 'failed').join(',')}`],
    ['NULs', 'component=%00&session=%00'],
    ['SQL', 'component=%27%3B%20DROP%20TABLE%20runs%3B--'],
    ['an encoding that is none', 'component=%ZZ'],
    ['a cursor that is a NUL', 'cursor=%00'],
    ['nothing but separators', '&&&&===='],
    ['names of what every object has', '__proto__=1&constructor=1'],
  ])('a query with %s is answered or rejected', async (_name, query) => {
    const server = await serveNative({ store: 'sqlite', limits: narrow })
    const { status } = await call(server, 'GET', `/runs?${query}`)
    expect([200, 400]).toContain(status)
    await expectGoesOn(server)
  })

  test('a repeated parameter uses the first value', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 1')
    await untilFinished(server, id)
    const { body } = await call<{ events: { index: number }[] }>(
      server,
      'GET',
      `/runs/${id}/events?format=json&after=1&after=0`,
    )
    expect(body.events[0]!.index).toBe(2)
  })
})

test('native: many invalid clients do not delay a valid one', async () => {
  const server = await serveNative({ limits: narrow })
  const agent = new Agent({ keepAlive: true, maxSockets: 20 })
  const { id } = await startRun(server, 'text 50 every 2')
  const good = followRun(server, id)
  const wrong = Array.from({ length: 200 }, (_, index) => statusOfRequest(server, agent, index))
  for (const status of await Promise.all(wrong)) expect([400, 404, 405]).toContain(status)
  expect(await good.ended).toBe('closed')
  expect(good.events).toBe(53)
  agent.destroy()
})

function statusOfRequest(server: NativeServer, agent: Agent, index: number): Promise<number | undefined> {
  const [method, path, body] = (
    [
      ['GET', '/runs/%zz', ''],
      ['POST', '/runs', '{'],
      ['PATCH', '/runs', ''],
      ['GET', '/runs?cursor=x', ''],
    ] as const
  )[index % 4]!
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      `${server.url}${path}`,
      { method, agent, headers: { 'content-type': 'application/json' } },
      (response) => {
        response.resume().once('end', () => resolve(response.statusCode))
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

function manyHeaders(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-Header-${index}`, 'x']))
}
