/** Responses of a proxy, a captive portal or another server in place of ours. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ApiError, ConnectionError, createClient } from '../../src/client/index.ts'
import { eventsIn, readLog, startRun, untilFinished } from '../support/http.ts'
import { serveNative } from '../protocols/native/serve.ts'
import { collect } from './collect.ts'

type Answer = readonly [name: string, make: () => Response | Promise<Response>]

const json = { headers: { 'content-type': 'application/json' } }
const html = { headers: { 'content-type': 'text/html' } }

const foreign: readonly Answer[] = [
  ['an empty 200', () => new Response('')],
  ['an empty 204', () => new Response(null, { status: 204 })],
  ['200 {}', () => new Response('{}', json)],
  ['200 null', () => new Response('null', json)],
  ['another JSON', () => new Response('{"ok":true,"id":7}', json)],
  [
    'JSON with our names and other types',
    () =>
      Response.json({
        id: 7,
        status: 'ok',
        events: [],
        runs: {},
        components: 1,
        data: {},
        meta: null,
        shares: 'x',
        cursor: 0,
        done: 1,
      }),
  ],
  [
    'lists of something else',
    () => Response.json({ runs: [1], components: [null], data: ['x'], meta: {}, events: {} }),
  ],
  ['a 404 page of a load balancer', () => new Response('default backend - 404', { status: 404 })],
  ['a 403 page of a firewall', () => new Response('<html>Are you human?</html>', { status: 403, ...html })],
  ['a redirect to another JSON', redirected],
  ['a page', () => new Response('<html>Log in to the network</html>', html)],
]

/** A response of another server that a proxy routed us to. */
async function redirected(): Promise<Response> {
  const other = createServer((request, response) => {
    if (request.url === '/elsewhere') return void response.writeHead(200, json.headers).end('{"status":"fine"}')
    response.writeHead(302, { location: '/elsewhere' }).end()
  })
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void other.close())
  const response = await fetch(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`)
  expect(response.redirected).toBe(true)
  return response
}

/** Sends these responses first, then the server's own. */
function first(count: number, make: Answer[1], concerned: (url: string) => boolean = () => true): typeof fetch {
  let left = count
  return (input, init) => (concerned(input as string) && left-- > 0 ? Promise.resolve(make()) : fetch(input, init))
}

const isStream = (url: string): boolean => url.includes('format=sse')

describe.each(foreign)('client: %s', (_name, make) => {
  test('a start that gets a foreign response is retried, and starts one run', async () => {
    const server = await serveNative()
    const client = createClient({ url: server.url, retryDelayMs: 1, fetch: first(2, make) })
    const run = await client.runs.start({ component: 'lab', input: 'text 1' })
    expect(run.id).toMatch(/^run_/)
    expect((await client.runs.list()).runs.map(({ id }) => id)).toEqual([run.id])
  })

  test('a stream or page that gets a foreign response is retried, and the loop ends with the last event', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 3')
    await untilFinished(server, id)
    const log = eventsIn(await readLog(server, id))
    const client = createClient({ url: server.url, retryDelayMs: 1, fetch: first(3, make, isStream) })
    expect(await collect(client.runs.events(id))).toEqual(log)
  })

  test('a request that gets only foreign responses fails with a ConnectionError that has what was received', async () => {
    const client = createClient({ url: 'http://127.0.0.1:1', retries: 2, retryDelayMs: 1, fetch: async () => make() })
    for (const ask of [
      () => client.runs.start({ component: 'lab', input: '' }),
      () => client.runs.get('run_1'),
      () => client.runs.list(),
      () => client.components.list(),
      () => client.sessions.list(),
      () => client.sessions.get('session'),
      () => client.sessions.rename('session', 'name'),
      () => collect(client.runs.events('run_1')),
      () => client.runs.open('run_1').result(),
      () => client.runs.stop('run_1'),
      () => client.runs.answer('run_1', { answer: 1 }),
      () => client.sessions.runs('session'),
      () => client.runs.open('run_1').share(),
      () => client.runs.open('run_1').shares(),
      () => collect(client.runs.open('run_1').text()),
    ]) {
      const error = await ask().then(
        () => undefined,
        (cause: unknown) => cause,
      )
      expect(error).toBeInstanceOf(ConnectionError)
      expect((error as ConnectionError).message).toContain('the response is not from a Holdfast server')
      expect((error as ConnectionError).retryable).toBe(true)
    }
  })
})

test.each(foreign.filter(([name]) => name !== 'an empty 204'))(
  'client: %s does not confirm a deletion',
  async (_name, make) => {
    const client = createClient({ url: 'http://127.0.0.1:1', retries: 2, retryDelayMs: 1, fetch: async () => make() })
    for (const ask of [
      () => client.runs.delete('run_1'),
      () => client.sessions.delete('session'),
      () => client.runs.open('run_1').revokeShare('share_1'),
    ])
      await expect(ask()).rejects.toBeInstanceOf(ConnectionError)
  },
)

test('client: a run with another id than the requested one is rejected', async () => {
  const other = { id: 'run_2', status: 'completed', events: 4 }
  const client = createClient({
    url: 'http://127.0.0.1:1',
    retries: 1,
    retryDelayMs: 1,
    fetch: async () => Response.json(other),
  })
  await expect(client.runs.get('run_1')).rejects.toBeInstanceOf(ConnectionError)
})

test('client: a 403 or 404 of a Holdfast server is not retried', async () => {
  const server = await serveNative()
  let requests = 0
  const counting: typeof fetch = (input, init) => (requests++, fetch(input, init))
  const client = createClient({ url: server.url, retryDelayMs: 1, fetch: counting })
  await expect(client.runs.get('run_none')).rejects.toMatchObject({ name: 'ApiError', code: 'not_found' })
  await expect(client.sessions.delete('none')).rejects.toMatchObject({ name: 'ApiError', status: 404 })
  expect(requests).toBe(2)
})

test('client: a proxy’s status becomes an error with what was received', async () => {
  const page = (): Response => new Response('<html>Request too large</html>', { status: 413, ...html })
  const client = createClient({ url: 'http://127.0.0.1:1', fetch: async () => page() })
  await expect(client.components.list()).rejects.toMatchObject({
    status: 413,
    message: '/components: the server responded with 413, text/html, "<html>Request too large</html>"',
  })
})

test('client: a fetch, a body and a key that never resolve and ignore their signal time out', async () => {
  const never = new Promise<never>(() => {})
  const stuck = { url: 'http://127.0.0.1:1', idleTimeoutMs: 50, retries: 1, retryDelayMs: 1 }
  const silent = new Response(new ReadableStream({ pull: () => never }), {
    headers: { 'content-type': 'text/event-stream' },
  })
  for (const options of [{ fetch: () => never }, { fetch: async () => silent.clone() }, { key: () => never }])
    await expect(collect(createClient({ ...stuck, ...options }).runs.events('run_1'))).rejects.toBeInstanceOf(
      ConnectionError,
    )
})

test('client: a server that reports the same trimmed events again and again is not asked forever', async () => {
  let requests = 0
  const trimmed = (): Response =>
    Response.json(
      { code: 'cursor_expired', detail: 'gone', retryable: false, details: { earliest: 5 } },
      { status: 410 },
    )
  const client = createClient({ url: 'http://127.0.0.1:1', fetch: async () => (requests++, trimmed()) })
  await expect(collect(client.runs.events('run_1', { onGap: () => {} }))).rejects.toMatchObject({
    code: 'cursor_expired',
  })
  expect(requests).toBe(2)
})

test('client: a changed log is reported, also after a stream that fell silent', async () => {
  const server = await serveNative()
  const { id } = await startRun(server, 'text 3')
  await untilFinished(server, id)
  const log = eventsIn(await readLog(server, id))
  let streams = 0
  const changing: typeof fetch = async (input, init) => {
    if (isStream(input as string) && ++streams > 1) return fetch((input as string).replace(/&after=[^&]*/, ''), init)
    if (!isStream(input as string))
      return Response.json({ code: 'log_changed', detail: 'another log', retryable: false }, { status: 409 })
    const frames = (await (await fetch(input, init)).text()).split(/(?<=\n\n)/).slice(0, 4)
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(frames.join(''))),
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  const client = createClient({ url: server.url, retryDelayMs: 1, idleTimeoutMs: 200, fetch: changing })
  expect((await collect(client.runs.events(id, { onLogChanged: () => {} }))).at(-1)).toEqual(log.at(-1))
})

test('client: 204 ends the loop of a reader that has the whole log', async () => {
  const server = await serveNative()
  const { id } = await startRun(server, 'text 3')
  const { events } = await untilFinished(server, id)
  expect(await collect(createClient({ url: server.url }).runs.events(id, { after: events - 1 }))).toEqual([])
})

test.each([500, 502, 511, 520, 522, 524, 529, 599])('client: status %d of a CDN is retried', async (status) => {
  const server = await serveNative()
  const broken = (): Response => new Response('oh dear', { status, ...html })
  const client = createClient({ url: server.url, retryDelayMs: 1, fetch: first(2, broken) })
  expect((await client.runs.start({ component: 'lab', input: 'text 1' })).id).toMatch(/^run_/)
})

test('client: status 501 is not retried', async () => {
  const client = createClient({ url: 'http://127.0.0.1:1', fetch: async () => new Response('', { status: 501 }) })
  await expect(client.components.list()).rejects.toBeInstanceOf(ApiError)
})

describe('client: a frame damaged in transit', () => {
  test.each([
    ['without data', (text: string) => text.replace(/"data":\{[^}]*\}\}/, '"nothing":1}')],
    ['without a type', (text: string) => text.replace(/"type":"text\.delta"/, '"tipe":"text.delta"')],
    ['with an index that is not a number', (text: string) => text.replace(/"index":4/, '"index":"4"')],
    ['of another run', (text: string) => text.replace(/"run":"run_[^"]*","index":4/, '"run":"run_other","index":4')],
  ])('a frame %s is requested again', async (_name, damage) => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 3')
    await untilFinished(server, id)
    const log = eventsIn(await readLog(server, id))
    let damaged = 0
    const noisy: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      if (damaged > 0 || !isStream(input as string)) return response
      const whole = await response.text()
      const changed = whole.slice(0, whole.indexOf('id: 4')) + damage(whole.slice(whole.indexOf('id: 4')))
      damaged += Number(changed !== whole)
      return new Response(changed, response)
    }
    const client = createClient({ url: server.url, retryDelayMs: 1, fetch: noisy })
    expect(await collect(client.runs.events(id))).toEqual(log)
    expect(damaged).toBe(1)
  })
})
