/** Hostile bodies are refused, and the server survives. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { Worker } from 'node:worker_threads'
import { describe, expect, onTestFinished, test } from 'vitest'
import { call, startRun, untilFinished, untilStatus } from '../../support/http.ts'
import { BODY_BYTES_MAX, expectGoesOn, narrow } from './hostile.ts'
import { exchange, requestText, statusOf } from './raw.ts'
import { type NativeServer, serveNative } from './serve.ts'

const TOO_LARGE_BYTES = 5_000_000

/** Sends a body unchanged. */
async function post(
  server: NativeServer,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {},
  path = '/runs',
) {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

describe('native: a request body', () => {
  test.each<[string, string | Uint8Array<ArrayBuffer>]>([
    ['that is not JSON', 'component=lab'],
    ['that is cut off', '{"component":"lab","input":"te'],
    ['with something behind it', '{"component":"lab","input":""} {}'],
    ['of blanks', '   '],
    ['with a comment', '{"component":"lab",/* */"input":""}'],
    ['with NaN', '{"component":"lab","input":NaN}'],
    ['with a bare line break in a string', '{"component":"lab","input":"a\nb"}'],
    ['with a NUL', '{"component":"lab","input":"a\u0000b"}'],
    [
      'of invalid UTF-8',
      new Uint8Array([...Buffer.from('{"component":"lab","input":"'), 0xff, 0xfe, ...Buffer.from('"}')]),
    ],
    [
      'of overlong UTF-8',
      new Uint8Array([...Buffer.from('{"component":"lab","input":"'), 0xc0, 0xaf, ...Buffer.from('"}')]),
    ],
    ['of UTF-16', new Uint8Array(Buffer.from('{"component":"lab","input":""}', 'utf16le'))],
    ['of nothing but brackets', '['.repeat(BODY_BYTES_MAX)],
    ['of nothing but quotes', '"'.repeat(BODY_BYTES_MAX)],
    ['of arrays in arrays', nested('[', ']', 40_000)],
    ['of objects in objects', nested('{"a":', '}', 16_000, '1')],
    ['with an input of arrays in arrays', `{"component":"echo","input":${nested('[', ']', 40_000)}}`],
    ['with an input just deeper than allowed', `{"component":"echo","input":${nested('[', ']', 300)}}`],
    [
      'with metadata of objects in objects',
      `{"component":"echo","input":"","metadata":{"m":${nested('{"a":', '}', 10_000, '1')}}}`,
    ],
    ['with a number that is none', '{"component":"echo","input":1e999}'],
    ['with a number that is none, written at length', `{"component":"echo","input":1${'0'.repeat(400)}}`],
    ['with a number that is none, written in between', `{"component":"echo","input":1${'0'.repeat(250)}e99}`],
    ['with a number that is none, deep inside', '{"component":"echo","input":"","metadata":{"a":[-1e999]}}'],
  ])('a body %s is rejected', async (_name, body) => {
    const server = await serveNative({ limits: narrow })
    const answer = await post(server, body)
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    expect(String(answer.body['detail']).length).toBeLessThanOrEqual(1200)
    await expectGoesOn(server)
  })

  test('a body of nested arrays is rejected also when its idempotency key is compared, and as an answer', async () => {
    const server = await serveNative({ limits: narrow })
    const deep = nested('[', ']', 40_000)
    const headers = { 'idempotency-key': 'k' }
    expect(await post(server, `{"component":"echo","input":${deep}}`, headers)).toMatchObject({ status: 400 })
    const { id } = await startRun(server, 'ask Go on?')
    await untilStatus(server, id, ['paused'])
    for (const body of [`{"answer":${deep}}`, `{"answers":{"question":${deep}}}`]) {
      expect(await post(server, body, {}, `/runs/${id}/answers`)).toMatchObject({ status: 400 })
    }
    await expectGoesOn(server)
  })

  test('may be nested as deep as an event', async () => {
    const server = await serveNative({ limits: narrow })
    const { body } = await post(server, `{"component":"echo","input":${nested('[', ']', 150)}}`)
    expect(await untilFinished(server, String(body['id']))).toMatchObject({ status: 'completed' })
  })

  test.each<[string, string, number]>([
    ['0', '0', 0],
    ['-0', '-0', 0],
    ['1e308', '1e308', 1e308],
    ['5e-324', '5e-324', 5e-324],
    ['of 300 zeros', `1${'0'.repeat(300)}`, 1e300],
    ['with 400 zeros behind its point', `0.${'0'.repeat(400)}1`, 0],
    ['12345678901234567890', '12345678901234567890', 12345678901234567000],
  ])('a body with the number %s is rounded to the nearest double', async (_name, text, number) => {
    const server = await serveNative({ limits: narrow })
    const { body } = await post(server, `{"component":"echo","input":${text}}`)
    expect(await untilFinished(server, String(body['id']))).toMatchObject({
      status: 'completed',
      output: { input: number },
    })
  })

  test.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'toJSON', ''])(
    'a body with the key %j changes no prototype, and the key is kept or rejected, never dropped',
    async (key) => {
      const server = await serveNative({ limits: narrow })
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

  test('a body with the key __proto__ instead of a field is rejected', async () => {
    const server = await serveNative({ limits: narrow })
    expect((await post(server, '{"__proto__":{"component":"echo","input":""}}')).status).toBe(400)
    expect((await post(server, '{"component":"echo","input":"","__proto__":{}}')).status).toBe(400)
  })

  test.each<[string, Record<string, string>]>([
    ['none', { 'content-type': '' }],
    ['text', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['one that only begins like JSON', { 'content-type': 'application/jsonp' }],
    ['one that only contains JSON', { 'content-type': 'text/plain; application/json' }],
  ])('a body of another type is rejected: %s', async (_name, headers) => {
    const server = await serveNative({ limits: narrow })
    const answer = await post(server, '{"component":"lab","input":""}', headers)
    expect([400, 415]).toContain(answer.status)
    expect(answer.body).toMatchObject({ code: 'invalid_request' })
  })

  test.each(['application/json', 'application/json; charset=utf-8', 'APPLICATION/JSON', 'application/vnd.api+json'])(
    'a body of type %s is accepted',
    async (type) => {
      const server = await serveNative({ limits: narrow })
      expect((await post(server, '{"component":"lab","input":""}', { 'content-type': type })).status).toBe(202)
    },
  )
})

describe('native: a request body that is too large', () => {
  test('is rejected by its Content-Length, before it is read', async () => {
    const server = await serveNative({ limits: narrow })
    const head = requestText('POST /runs', { 'Content-Type': 'application/json', 'Content-Length': '1000000000000' })
    const answer = await exchange(server.port, head)
    expect(statusOf(answer)).toBe(413)
    expect(answer).toContain('"code":"too_large"')
    await expectGoesOn(server)
  })

  test('is rejected while it arrives if its length is unknown', async () => {
    const server = await serveNative({ limits: narrow })
    const chunk = `8000\r\n${'x'.repeat(0x8000)}\r\n`
    const head = requestText('POST /runs', { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' })
    const answer = await exchange(server.port, head + chunk.repeat(4))
    expect(statusOf(answer)).toBe(413)
    expect(answer).toContain('"code":"too_large"')
    await expectGoesOn(server)
  })

  test.each([1, 40])('gets its response although the client keeps sending: %i times the limit', async (times) => {
    const server = await serveNative({ limits: narrow })
    expect(await post(server, `"${'x'.repeat(BODY_BYTES_MAX * times)}"`)).toMatchObject({
      status: 413,
      body: { code: 'too_large' },
    })
    await expectGoesOn(server)
  })

  // Without draining, the client gets EPIPE instead of the response.
  test('gets 413 although the client reads only after it has sent everything', async () => {
    const server = await serveNative()
    const body = Buffer.alloc(TOO_LARGE_BYTES, 'x')
    const head = requestText('POST /runs', {
      'Content-Type': 'application/json',
      'Content-Length': String(body.length),
      Connection: 'close',
    })
    for (let time = 0; time < 20; time++)
      expect(await sentThenRead(server.port, head, body)).toMatch(/^HTTP\/1\.1 413 /)
  })

  test('gets 413 in each of 80 tries of a client that writes as fast as it can', async () => {
    const server = await serveNative()
    const workerData = { port: server.port, tries: 80, bytes: TOO_LARGE_BYTES }
    const client = new Worker(new URL('large-bodies.ts', import.meta.url), { workerData })
    onTestFinished(async () => void (await client.terminate()))
    const [outcomes] = (await once(client, 'message')) as [readonly unknown[]]
    expect(outcomes).toEqual(Array.from({ length: 80 }, () => 413))
    await expectGoesOn(server)
  })

  test('is one byte over the limit; a body of the limit is accepted', async () => {
    const server = await serveNative({ limits: narrow })
    expect(bodyOf(1000)).toHaveLength(1000)
    expect((await post(server, bodyOf(BODY_BYTES_MAX))).status).toBe(202)
    expect((await post(server, bodyOf(BODY_BYTES_MAX + 1))).status).toBe(413)
  })

  test.each(['/runs/x/stop', '/runs/x/answers'])('is rejected by %s too', async (path) => {
    const server = await serveNative({ limits: narrow })
    const { id } = await startRun(server, 'hang')
    const answer = await call(server, 'POST', path.replace('x', id), { body: 'x'.repeat(BODY_BYTES_MAX) })
    expect(answer).toMatchObject({ status: 413, body: { code: 'too_large' } })
  })
})

/** A start with a body of `bytes` bytes. */
function bodyOf(bytes: number): string {
  return JSON.stringify({ component: 'echo', input: 'x'.repeat(bytes - 31) })
}

function nested(opening: string, closing: string, depth: number, core = ''): string {
  return opening.repeat(depth) + core + closing.repeat(depth)
}

/** The response once all bytes were accepted, or the error. */
function sentThenRead(port: number, head: string, body: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let answer = ''
    socket.pause()
    socket.on('data', (chunk) => (answer += chunk.toString()))
    socket.on('error', reject)
    socket.on('end', () => resolve(answer))
    socket.write(head)
    socket.write(body, () => socket.resume())
  })
}
