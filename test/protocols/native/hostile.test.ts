/** Whatever is sent to a server, it answers with 4xx or closes the connection, and goes on. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Agent, type Server as HttpServer, request as httpRequest } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { problemShape, type RunShape } from '../../../src/protocols/native/wire.ts'
import { openAuthenticator } from '../../../src/server/auth/index.ts'
import { createKey } from '../../../src/server/auth/keys.ts'
import { call, followRun, getRun, startRun, untilFinished, untilStatus } from '../../support/http.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'
import { exchange, open, requestText, statusOf } from './raw.ts'
import { type NativeServer, serveNative } from './serve.ts'

const BODY_BYTES_MAX = 100_000
const HEADER_BYTES_MAX = 8192
const limits = { bodyBytesMax: BODY_BYTES_MAX, headerBytesMax: HEADER_BYTES_MAX }

async function expectGoesOn(server: NativeServer): Promise<void> {
  expect(await call(server, 'GET', '/health')).toMatchObject({ status: 200, body: { status: 'ok' } })
}

/** Sends a body as it is. */
async function post(server: NativeServer, body: string | Uint8Array<ArrayBuffer>, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`${server.url}/runs`, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

describe('a body', () => {
  test.each<[string, string | Uint8Array<ArrayBuffer>]>([
    ['that is no JSON', 'component=lab'],
    ['that is cut off', '{"component":"lab","input":"te'],
    ['with something behind it', '{"component":"lab","input":""} {}'],
    ['of blanks', '   '],
    ['with a comment', '{"component":"lab",/* */"input":""}'],
    ['with NaN', '{"component":"lab","input":NaN}'],
    ['with a bare line break in a string', '{"component":"lab","input":"a\nb"}'],
    ['with a NUL', '{"component":"lab","input":"a\u0000b"}'],
    ['of invalid UTF-8', new Uint8Array([...Buffer.from('{"component":"lab","input":"'), 0xff, 0xfe, ...Buffer.from('"}')])],
    ['of overlong UTF-8', new Uint8Array([...Buffer.from('{"component":"lab","input":"'), 0xc0, 0xaf, ...Buffer.from('"}')])],
    ['of UTF-16', new Uint8Array(Buffer.from('{"component":"lab","input":""}', 'utf16le'))],
    ['of nothing but brackets', '['.repeat(BODY_BYTES_MAX)],
    ['of nothing but quotes', '"'.repeat(BODY_BYTES_MAX)],
    ['of arrays in arrays', nested('[', ']', 40_000)],
    ['of objects in objects', nested('{"a":', '}', 16_000, '1')],
    ['with an input of arrays in arrays', `{"component":"echo","input":${nested('[', ']', 40_000)}}`],
    ['with an input just deeper than allowed', `{"component":"echo","input":${nested('[', ']', 300)}}`],
    ['with metadata of objects in objects', `{"component":"echo","input":"","metadata":{"m":${nested('{"a":', '}', 10_000, '1')}}}`],
    ['with a number that is none', '{"component":"echo","input":1e999}'],
    ['with a number that is none, deep inside', '{"component":"echo","input":"","metadata":{"a":[-1e999]}}'],
  ])('%s is refused', async (_name, body) => {
    const server = await serveNative({ limits })
    const answer = await post(server, body)
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    expect(String(answer.body['detail']).length).toBeLessThanOrEqual(1200)
    await expectGoesOn(server)
  })

  test('may be as deep as an event may be', async () => {
    const server = await serveNative({ limits })
    const { body } = await post(server, `{"component":"echo","input":${nested('[', ']', 150)}}`)
    expect(await untilFinished(server, String(body['id']))).toMatchObject({ status: 'completed' })
  })

  test.each<[string, unknown]>([
    ['0', 0],
    ['-0', 0],
    ['1e308', 1e308],
    ['5e-324', 5e-324],
    [`1${'0'.repeat(300)}`, 1e300],
    [`0.${'0'.repeat(400)}1`, 0],
    ['12345678901234567890', 12345678901234567890],
  ])('with the number %s goes on as the nearest one that there is', async (text, number) => {
    const server = await serveNative({ limits })
    const { body } = await post(server, `{"component":"echo","input":${text}}`)
    expect(await untilFinished(server, String(body['id']))).toMatchObject({ status: 'completed', output: { input: number } })
  })

  test.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'toJSON', ''])(
    'with the key %j changes nothing of the server, and the key is kept or refused, never dropped',
    async (key) => {
      const server = await serveNative({ limits })
      const bad = `{${JSON.stringify(key)}:{"polluted":true}}`
      const answer = await post(server, `{"component":"echo","input":{"a":[${bad}]},"metadata":${bad}}`)
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
      const run = answer.status === 400 ? undefined : await untilFinished(server, String(answer.body['id']))
      const kept = run === undefined ? bad : JSON.stringify(run.metadata)
      const given = run === undefined ? `{"a":[${bad}]}` : JSON.stringify((run.output as { input: unknown }).input)
      expect({ kept, given }).toEqual({ kept: bad, given: `{"a":[${bad}]}` })
      await expectGoesOn(server)
    },
  )

  test('with the key __proto__ instead of a field is refused', async () => {
    const server = await serveNative({ limits })
    expect((await post(server, '{"__proto__":{"component":"echo","input":""}}')).status).toBe(400)
    expect((await post(server, '{"component":"echo","input":"","__proto__":{}}')).status).toBe(400)
  })

  test.each<[string, Record<string, string>]>([
    ['none', { 'content-type': '' }],
    ['text', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['one that only begins like JSON', { 'content-type': 'application/jsonp' }],
    ['one that only contains JSON', { 'content-type': 'text/plain; application/json' }],
  ])('of another type is refused: %s', async (_name, headers) => {
    const server = await serveNative({ limits })
    const answer = await post(server, '{"component":"lab","input":""}', headers)
    expect([400, 415]).toContain(answer.status)
    expect(answer.body).toMatchObject({ code: 'invalid_request' })
  })

  test.each(['application/json', 'application/json; charset=utf-8', 'APPLICATION/JSON', 'application/vnd.api+json'])(
    'of type %s is taken',
    async (type) => {
      const server = await serveNative({ limits })
      expect((await post(server, '{"component":"lab","input":""}', { 'content-type': type })).status).toBe(202)
    },
  )
})

describe('a body that is too large', () => {
  test('is refused by its Content-Length, before it is read', async () => {
    const server = await serveNative({ limits })
    const head = requestText('POST /runs', { 'Content-Type': 'application/json', 'Content-Length': '1000000000000' })
    const answer = await exchange(server.port, head)
    expect(statusOf(answer)).toBe(413)
    expect(answer).toContain('"code":"too_large"')
    await expectGoesOn(server)
  })

  test('is refused while it comes, where its length was not said', async () => {
    const server = await serveNative({ limits })
    const chunk = `8000\r\n${'x'.repeat(0x8000)}\r\n`
    const head = requestText('POST /runs', { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' })
    const answer = await exchange(server.port, head + chunk.repeat(4))
    expect(statusOf(answer)).toBe(413)
    expect(answer).toContain('"code":"too_large"')
    await expectGoesOn(server)
  })

  test.each([1, 40])('is told to a client that goes on sending: %i times the bound', async (times) => {
    const server = await serveNative({ limits })
    expect(await post(server, `"${'x'.repeat(BODY_BYTES_MAX * times)}"`)).toMatchObject({ status: 413, body: { code: 'too_large' } })
    await expectGoesOn(server)
  })

  test('is one byte over the bound; a body of the bound is read', async () => {
    const server = await serveNative({ limits })
    const bodyOf = (bytes: number): string => JSON.stringify({ component: 'echo', input: 'x'.repeat(bytes - 31) })
    expect(bodyOf(1000)).toHaveLength(1000)
    expect((await post(server, bodyOf(BODY_BYTES_MAX))).status).toBe(202)
    expect((await post(server, bodyOf(BODY_BYTES_MAX + 1))).status).toBe(413)
  })

  test.each(['/runs/x/stop', '/runs/x/input'])('is refused by %s too', async (path) => {
    const server = await serveNative({ limits })
    const { id } = await startRun(server, 'hang')
    const answer = await call(server, 'POST', path.replace('x', id), { body: 'x'.repeat(BODY_BYTES_MAX) })
    expect(answer).toMatchObject({ status: 413, body: { code: 'too_large' } })
  })
})

describe('a head', () => {
  test.each<[string, string, number]>([
    ['with a header over the bound', requestText('GET /health', { 'X-Long': 'x'.repeat(HEADER_BYTES_MAX) }), 431],
    ['with many headers over the bound', requestText('GET /health', manyHeaders(1000)), 431],
    ['with a path over the bound', requestText(`GET /${'x'.repeat(HEADER_BYTES_MAX)}`), 431],
    ['without a Host', 'GET /health HTTP/1.1\r\n\r\n', 400],
    ['with a bare line feed in a value', requestText('GET /health', { 'X-Bad': 'a\rb' }), 400],
    ['with a NUL in a value', requestText('GET /health', { 'X-Bad': 'a\0b' }), 400],
    ['with a blank before the colon', 'GET /health HTTP/1.1\r\nHost: localhost\r\nX-Bad : a\r\n\r\n', 400],
    ['with two lengths', requestText('POST /runs', { 'Content-Length': '5', 'content-length': '6' }, 'hello'), 400],
    ['with a length and chunks', requestText('POST /runs', { 'Content-Length': '5', 'Transfer-Encoding': 'chunked' }, '0\r\n\r\n'), 400],
    ['with a length that is none', requestText('POST /runs', { 'Content-Length': '-1' }), 400],
    ['with a chunk size that is none', requestText('POST /runs', { 'Transfer-Encoding': 'chunked' }, 'zz\r\n'), 400],
    ['of another protocol', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['of no protocol', 'hello there\r\n\r\n', 400],
    ['of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['with a method that is none', requestText('DESTROY /runs'), 400],
  ])('%s is refused', async (_name, bytes, status) => {
    const server = await serveNative({ limits })
    expect(statusOf(await exchange(server.port, bytes))).toBe(status)
    await expectGoesOn(server)
  })

  test.each<[string, string]>([
    ['random bytes', Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 7919) % 256)).toString('latin1')],
    ['a CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n'],
    ['nothing but line breaks', '\r\n'.repeat(10_000)],
  ])('of %s costs its connection at most', async (_name, bytes) => {
    const server = await serveNative({ limits })
    const socket = open(server.port)
    socket.on('error', () => {}) // reset is an answer, too
    socket.end(Buffer.from(bytes, 'latin1'))
    socket.resume()
    await new Promise((resolve) => socket.once('close', resolve))
    await expectGoesOn(server)
  })

  test('asking for an upgrade is answered as if it did not', async () => {
    const server = await serveNative({ limits })
    const head = requestText('GET /health', { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Key': 'x' })
    expect(statusOf(await exchange(server.port, head, { until: (text) => text.includes('"status":"ok"') }))).toBe(200)
  })

  test('that says it expects something unheard-of is refused', async () => {
    const server = await serveNative({ limits })
    expect(statusOf(await exchange(server.port, requestText('POST /runs', { Expect: 'the-moon', Connection: 'close' })))).toBe(417)
  })
})

describe('a path', () => {
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
  ])('%j finds nothing and says so in one line', async (path) => {
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

  test.each(['//evil.example/health', '/\\evil.example/health', '///health', '/runs/../health', '/runs/%2e%2e/health', '/health/.'])(
    '%s is what it says, not what a browser would make of it',
    async (path) => {
      const server = await serveNative()
      expect(statusOf(await exchange(server.port, requestText(`GET ${path}`, { Connection: 'close' })))).toBe(404)
    },
  )

  test.each(['health', '?x', '*', 'http://[', 'http://', 'file:///etc/passwd'])('%j is no path, and refused', async (target) => {
    const server = await serveNative()
    const status = statusOf(await exchange(server.port, requestText(`GET ${target}`, { Connection: 'close' })))
    expect([400, 404]).toContain(status)
    await expectGoesOn(server)
  })

  test('with the whole address, as to a proxy, is the path of that address', async () => {
    const server = await serveNative()
    const answer = await exchange(server.port, requestText('GET http://localhost/health', { Connection: 'close' }))
    expect(statusOf(answer)).toBe(200)
  })

  test('may be encoded where it need not be', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, '')
    const encoded = Array.from(id, (character) => `%${character.charCodeAt(0).toString(16)}`).join('')
    expect(await call(server, 'GET', `/runs/${encoded}`)).toMatchObject({ status: 200, body: { id } })
  })
})

describe('a query', () => {
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
  ])('with %s is answered or refused', async (_name, query) => {
    const server = await serveNative({ store: 'sqlite', limits })
    const { status } = await call(server, 'GET', `/runs?${query}`)
    expect([200, 400]).toContain(status)
    await expectGoesOn(server)
  })

  test('names a parameter twice, and the first one counts', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 1')
    await untilFinished(server, id)
    const { body } = await call<{ events: { index: number }[] }>(server, 'GET', `/runs/${id}/events?format=json&after=1&after=0`)
    expect(body.events[0]!.index).toBe(2)
  })
})

describe('a page of another site', () => {
  test.each(['evil.example', 'evil.example:7777', 'localhost.evil.example', '127.0.0.1.evil.example', 'evil-localhost', '192.168.0.1', '[::2]', 'localhost:x', '@localhost'])(
    'cannot reach a server without authentication by the name %j, which it has made to mean this machine',
    async (host) => {
      const server = await serveNative()
      for (const line of ['GET /components', 'GET /health', 'POST /runs', 'DELETE /runs/x']) {
        const answer = await exchange(server.port, requestText(line, { Host: host, Connection: 'close' }))
        expect([400, 403], line).toContain(statusOf(answer))
      }
      await expectGoesOn(server)
    },
  )

  test.each(['localhost', 'localhost:7777', 'LOCALHOST', '127.0.0.1', '127.0.0.1:80', '127.1.2.3', '[::1]', '[::1]:7777', 'agents.localhost', 'agents.localhost:7777'])(
    'is none by the name %j',
    async (host) => {
      const server = await serveNative()
      expect(statusOf(await exchange(server.port, requestText('GET /components', { Host: host, Connection: 'close' })))).toBe(200)
    },
  )

  test('may have any name where callers show who they are', async () => {
    const keys = `${temporaryFolder()}/keys.json`
    const { key } = await createKey(keys, { name: 'ci' })
    const server = await serveNative({ authenticator: await openAuthenticator({ keys }) })
    const headers = { Host: 'agents.example', Authorization: `Bearer ${key}`, Connection: 'close' }
    expect(statusOf(await exchange(server.port, requestText('GET /components', headers)))).toBe(200)
  })

  test.each(['http://evil.example', 'https://localhost.evil.example', 'null', 'http://localhost:1', 'file://', 'chrome-extension://x', 'nonsense'])(
    'cannot change anything here: Origin %s',
    async (origin) => {
      const server = await serveNative()
      const { id } = await startRun(server, 'ask Go on?')
      await untilStatus(server, id, ['paused'])
      for (const [method, path, body] of [
        ['POST', '/runs', { component: 'lab', input: '' }],
        ['POST', `/runs/${id}/stop`, undefined],
        ['POST', `/runs/${id}/input`, { answer: 1 }],
        ['DELETE', `/runs/${id}`, undefined],
      ] as const) {
        const answer = await call(server, method, path, { headers: { origin }, ...(body !== undefined && { body }) })
        expect(answer, path).toMatchObject({ status: 403, body: { code: 'forbidden' } })
      }
      expect(await getRun(server, id)).toMatchObject({ status: 'paused' })
      const { body } = await call<{ runs: RunShape[] }>(server, 'GET', '/runs')
      expect(body.runs).toHaveLength(1)
    },
  )

  test('may look, which the browser does not let it see', async () => {
    const server = await serveNative()
    const { status, headers } = await call(server, 'GET', '/runs', { headers: { origin: 'http://evil.example' } })
    expect(status).toBe(200)
    expect(headers.get('access-control-allow-origin')).toBeNull()
  })

  test('is not one that this server gave', async () => {
    const server = await serveNative()
    const answer = await call(server, 'POST', '/runs', { body: { component: 'lab', input: '' }, headers: { origin: server.url } })
    expect(answer.status).toBe(202)
  })
})

describe('a connection', () => {
  test('may bring several requests at once, which are answered in order', async () => {
    const server = await serveNative()
    const body = '{"component":"lab","input":""}'
    const start = requestText('POST /runs', { 'Content-Type': 'application/json', 'Content-Length': String(body.length) }, body)
    const all = [requestText('GET /nowhere'), start, requestText('DELETE /runs'), start, requestText('GET /health', { Connection: 'close' })]
    const answer = await exchange(server.port, all.join(''))
    expect([...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status)).toEqual(['404', '202', '405', '202', '200'])
  })

  test('may be reset at any moment', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 1000 every 1')
    const body = '{"component":"lab","input":""}'
    const post = requestText('POST /runs', { 'Content-Type': 'application/json', 'Content-Length': String(body.length) }, body)
    const stream = requestText(`GET /runs/${id}/events`)
    const poll = requestText(`GET /runs/${id}/events?format=json&wait=10000&after=0`)
    const cuts = [post, stream, poll].flatMap((bytes) => [1, Math.floor(bytes.length / 2), bytes.length - 1, bytes.length].map((length) => bytes.slice(0, length)))
    await Promise.all(
      cuts.map(async (bytes) => {
        const socket = open(server.port)
        socket.on('error', () => {}) // it is we who reset
        await new Promise((resolve) => socket.write(bytes, resolve))
        await sleep(5)
        socket.resetAndDestroy()
      }),
    )
    await until('all subscribers are gone', () => server.service.health().subscribers === 0)
    await expectGoesOn(server)
  })

  test('is refused beyond the bound, and taken again when one is free', async () => {
    const server = await serveNative({ limits: { connectionsMax: 3 } })
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
    const status = async () => statusOf(await exchange(server.port, requestText('GET /health', { Connection: 'close' }))) === 200
    await until('there is room again', status)
    for (const socket of held) socket.destroy()
  })

  test('that never ends its request does not stay for ever', async () => {
    const server = await serveNative()
    const { headersTimeout, requestTimeout } = await listenerOf(server)
    expect(headersTimeout).toBeGreaterThan(0)
    expect(headersTimeout).toBeLessThanOrEqual(60_000)
    expect(requestTimeout).toBeGreaterThan(0)
    expect(requestTimeout).toBeLessThanOrEqual(300_000)
  })

  test('[SUB-1] beyond the subscribers that a run may have is refused with 429, and another run is not concerned', async () => {
    const server = await serveNative({ limits: { subscribersPerRunMax: 2 } })
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

test('many clients that are all wrong do not hinder one that is right', async () => {
  const server = await serveNative({ limits })
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
  const [method, path, body] = ([
    ['GET', '/runs/%zz', ''],
    ['POST', '/runs', '{'],
    ['PATCH', '/runs', ''],
    ['GET', '/runs?cursor=x', ''],
  ] as const)[index % 4]!
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${server.url}${path}`, { method, agent, headers: { 'content-type': 'application/json' } }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode))
    })
    request.on('error', reject)
    request.end(body)
  })
}

/** Node's own server behind ours. */
async function listenerOf(server: NativeServer): Promise<HttpServer> {
  const listeners: HttpServer[] = []
  const note = (message: unknown): void => void listeners.push((message as { server: HttpServer }).server)
  subscribe('http.server.request.start', note)
  await expectGoesOn(server)
  unsubscribe('http.server.request.start', note)
  return listeners[0]!
}

function nested(opening: string, closing: string, depth: number, core = ''): string {
  return opening.repeat(depth) + core + closing.repeat(depth)
}

function manyHeaders(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-Header-${index}`, 'x']))
}
