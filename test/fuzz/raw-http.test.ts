/** Bytes that are not, or not quite, HTTP: the connection gets a response or is closed, and the server survives. */
import { connect } from 'node:net'
import fc from 'fast-check'
import { afterAll, test } from 'vitest'
import { assertHolds, fuzzSeconds, fuzzTimeoutMs } from './check.ts'
import { exchange } from './exchange.ts'
import { KEY } from './messages.ts'
import { FuzzedServer } from './server.ts'
import { withTimeout } from './timeout.ts'
import { holdsBriefly, isFault } from './response-checks.ts'
import { text } from './values.ts'
import { anyCharacter } from '../../src/testing/any-character.ts'

const server = new FuzzedServer()
afterAll(() => server.stop())

const seconds = fuzzSeconds(5)

const latin = fc.string({ unit: anyCharacter, maxLength: 60 })

const line = fc.oneof(
  { weight: 3, arbitrary: fc.constant(`authorization: Bearer ${KEY}`) },
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      'host: localhost',
      'content-length: 3',
      'content-length: -1',
      'content-length: 99999999999999999999',
      'transfer-encoding: chunked',
      'transfer-encoding: gzip, chunked',
      'connection: upgrade',
      'connection: close',
      'upgrade: websocket',
      'upgrade: h2c',
      'sec-websocket-version: 13',
      'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-extensions: permessage-deflate; client_max_window_bits=1',
      'expect: 100-continue',
      'content-type: application/json',
      'content-type: multipart/form-data; boundary=',
      'te: trailers',
    ),
  },
  { weight: 1, arbitrary: fc.tuple(text, text).map(([name, value]) => `${name}: ${value}`) },
  { weight: 1, arbitrary: latin },
)

const target = fc.oneof(
  fc.constantFrom(
    '/',
    '*',
    '//',
    '/runs',
    '/runs?',
    '/runs/%',
    '/runs/%00/events',
    '/agents/ws',
    '/agents/ws?x=%',
    'http://evil.example/runs',
    'http://[::1/runs',
    '/v1/responses',
    '/a2a/lab',
    '/console/assets/../../package.json',
    '/console/assets/%2e%2e%2fpackage.json',
    '/\u0080',
  ),
  latin,
)

const head = fc
  .record({
    method: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom('GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'CONNECT', 'TRACE', 'PRI') },
      { weight: 1, arbitrary: latin },
    ),
    target,
    version: fc.constantFrom('HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/9', ''),
    lines: fc.array(line, { maxLength: 8 }),
    body: fc.oneof(
      latin,
      fc.constantFrom(
        '',
        '{}',
        '3\r\nabc\r\n0\r\n\r\n',
        'ffffffffffffffff\r\n',
        '1;x\r\na\r\n',
        'GET / HTTP/1.1\r\n\r\n',
      ),
    ),
  })
  .map(
    ({ method, target: at, version, lines, body }) =>
      `${method} ${at} ${version}\r\n${lines.join('\r\n')}\r\n\r\n${body}`,
  )

/** Cut into pieces, each sent by itself. */
const bytes = fc.oneof({ weight: 6, arbitrary: head }, { weight: 1, arbitrary: latin })

test(
  'fuzz: invalid HTTP is rejected without blocking the event loop',
  { timeout: fuzzTimeoutMs(seconds) },
  async () => {
    await server.ready()
    await assertHolds('raw HTTP', fc.array(bytes, { minLength: 1, maxLength: 4 }), seconds, async (pieces) => {
      await holdsBriefly(server, JSON.stringify(pieces), async ({ url }) => {
        const answer = await sent(Number(new URL(url).port), pieces)
        const statuses = [...answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))
        if (statuses.some(isFault)) return `answered with ${answer.slice(0, 500)}`
        const health = await exchange(url, { method: 'GET', path: '/health', headers: {}, body: undefined })
        return health.status === 200 ? undefined : `afterwards /health says ${health.status}`
      })
    })
  },
)

/** All bytes of the server until it stopped sending. */
function sent(port: number, pieces: readonly string[]): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => (answer += chunk))
  socket.on('error', () => {}).on('close', () => resolve(answer))
  socket.on('connect', () => {
    for (const piece of pieces) socket.write(piece, 'latin1')
    socket.end()
  })
  return withTimeout(promise, 30_000, 'the connection was not closed').finally(() => socket.destroy())
}
