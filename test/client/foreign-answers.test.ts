/** What comes from a proxy, a captive portal or another server instead of ours. */
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
  ['a redirect to another JSON', redirected],
  ['a page', () => new Response('<html>Log in to the network</html>', html)],
]

/** An answer of another server, to which a proxy sent us. */
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

/** Answers with these first, then with the server's own. */
function first(count: number, make: Answer[1], concerned: (url: string) => boolean = () => true): typeof fetch {
  let left = count
  return (input, init) => (concerned(input as string) && left-- > 0 ? Promise.resolve(make()) : fetch(input, init))
}

const isStream = (url: string): boolean => url.includes('format=sse')

describe.each(foreign)('%s', (_name, make) => {
  test('in place of a start is tried again, and the start is one run', async () => {
    const server = await serveNative()
    const client = createClient({ url: server.url, retryMs: 1, fetch: first(2, make) })
    const run = await client.runs.start({ component: 'lab', input: 'text 1' })
    expect(run.id).toMatch(/^run_/)
    expect((await client.runs.list()).runs.map(({ id }) => id)).toEqual([run.id])
  })

  test('in place of a stream or a page is tried again, and the loop ends with the last event', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 3')
    await untilFinished(server, id)
    const log = eventsIn(await readLog(server, id))
    const client = createClient({ url: server.url, retryMs: 1, fetch: first(3, make, isStream) })
    expect(await collect(client.runs.stream(id))).toEqual(log)
  })

  test('for as long as it is tried is a ConnectionError that says what came', async () => {
    const client = createClient({ url: 'http://127.0.0.1:1', retries: 2, retryMs: 1, fetch: async () => make() })
    for (const ask of [
      () => client.runs.start({ component: 'lab', input: '' }),
      () => client.runs.get('run_1'),
      () => client.runs.list(),
      () => client.components.list(),
      () => client.sessions.list(),
      () => collect(client.runs.stream('run_1')),
      () => client.runs.open('run_1').result(),
    ]) {
      const error = await ask().then(
        () => undefined,
        (cause: unknown) => cause,
      )
      expect(error).toBeInstanceOf(ConnectionError)
      expect((error as ConnectionError).message).toContain('not an answer of a Holdfast server')
    }
  })
})

test('204 ends the loop of a reader that has the whole log', async () => {
  const server = await serveNative()
  const { id } = await startRun(server, 'text 3')
  const { events } = await untilFinished(server, id)
  expect(await collect(createClient({ url: server.url }).runs.stream(id, { after: events - 1 }))).toEqual([])
})

test.each([500, 502, 511, 520, 522, 524, 529, 599])('status %d of a CDN is tried again', async (status) => {
  const server = await serveNative()
  const broken = (): Response => new Response('oh dear', { status, ...html })
  const client = createClient({ url: server.url, retryMs: 1, fetch: first(2, broken) })
  expect((await client.runs.start({ component: 'lab', input: 'text 1' })).id).toMatch(/^run_/)
})

test('status 501 is not tried again', async () => {
  const client = createClient({ url: 'http://127.0.0.1:1', fetch: async () => new Response('', { status: 501 }) })
  await expect(client.components.list()).rejects.toBeInstanceOf(ApiError)
})

describe('a frame that was damaged on its way', () => {
  test.each([
    ['without data', (text: string) => text.replace(/"data":\{[^}]*\}\}/, '"nothing":1}')],
    ['without a type', (text: string) => text.replace(/"type":"text\.delta"/, '"tipe":"text.delta"')],
    ['with an index that is no number', (text: string) => text.replace(/"index":4/, '"index":"4"')],
    ['of another run', (text: string) => text.replace(/"run":"run_[^"]*","index":4/, '"run":"run_other","index":4')],
  ])('%s is asked for again', async (_name, damage) => {
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
    const client = createClient({ url: server.url, retryMs: 1, fetch: noisy })
    expect(await collect(client.runs.stream(id))).toEqual(log)
    expect(damaged).toBe(1)
  })
})
