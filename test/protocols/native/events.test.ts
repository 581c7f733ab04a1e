/** Following a log over the native protocol, as server-sent events and as NDJSON. */
import { get } from 'node:http'
import { describe, expect, test } from 'vitest'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { createFakeClock } from '../../../src/testing/fake-clock.ts'
import { call, followRun, readLog, startRun, type Target, untilFinished, untilStatus } from '../../support/http.ts'
import { temporaryDatabase } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'
import { exchange, requestText } from './raw.ts'
import { serveNative } from './serve.ts'

/** Predictable ids. */
const countedIds = { run: () => 'run_1', session: () => 'ses_1', unique: () => 'unique_1' }

const TIME = '2026-01-01T00:00:00.000Z'

function envelope(index: number, type: string, data: string): string {
  return `{"run":"run_1","index":${index},"time":"${TIME}","type":"${type}","data":${data}}`
}

/** What `text 2; custom snag` adds to a log that has its `run.created`. */
const written = [
  envelope(1, 'run.started', '{"attempt":1}'),
  envelope(2, 'text.delta', '{"text":"[0] kelp "}'),
  envelope(3, 'text.delta', '{"text":"[1] tide "}'),
  envelope(4, 'custom.emitted', '{"name":"snag","value":{"number":0}}'),
  envelope(5, 'run.completed', '{}'),
]

function frame(text: string): string {
  const { index, type } = JSON.parse(text) as { index: number; type: string }
  return `id: ${index}\nevent: ${type}\ndata: ${text}\n\n`
}

describe.each(['memory', 'sqlite'] as const)('native: the bytes of a log on the %s store', (store) => {
  const foretold = async () => {
    const server = await serveNative({ store, clock: createFakeClock(TIME), ids: countedIds })
    await startRun(server, 'text 2; custom snag')
    await untilFinished(server, 'run_1')
    const { bytes } = (await server.store.read('run_1', -1, 1))!
    const [, created] = /^id: 0\nevent: run\.created\ndata: (.+)\n\n/.exec(Buffer.from(bytes).toString())!
    expect(JSON.parse(created!)).toEqual({
      run: 'run_1',
      index: 0,
      time: TIME,
      type: 'run.created',
      data: { component: 'lab', input: 'text 2; custom snag', session: 'ses_1', protocol: 'native' },
    })
    return { server, envelopes: [created!, ...written] }
  }

  test('[LOG-5] SSE sends a retry hint, then id, event and the stored envelope of each event', async () => {
    const { server, envelopes } = await foretold()
    const response = await fetch(`${server.url}/runs/run_1/events`, { headers: { accept: 'text/event-stream' } })
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      'holdfast-run': 'run_1',
    })
    expect(response.headers.has('content-length')).toBe(false)
    expect(await response.text()).toBe(`retry: 20\n\n${envelopes.map(frame).join('')}`)
  })

  test('[LOG-5] NDJSON sends the stored envelope of each event on a line of its own', async () => {
    const { server, envelopes } = await foretold()
    const response = await fetch(`${server.url}/runs/run_1/events`, { headers: { accept: 'application/x-ndjson' } })
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/x-ndjson; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'holdfast-run': 'run_1',
    })
    expect(await response.text()).toBe(`\n${envelopes.join('\n')}\n`)
  })

  test('[LOG-5] a JSON page has the stored envelopes in a list', async () => {
    const { server, envelopes } = await foretold()
    const response = await fetch(`${server.url}/runs/run_1/events`, { headers: { accept: 'application/json' } })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await response.text()).toBe(`{"events":[${envelopes.join(',')}],"cursor":5,"done":true}`)
  })

  test('[SUB-2] the events after each cursor are exactly what follows it, in every format', async () => {
    const { server, envelopes } = await foretold()
    for (let after = -1; after < 5; after++) {
      const text = async (format: string) =>
        (await fetch(`${server.url}/runs/run_1/events?after=${after}&format=${format}`)).text()
      const rest = envelopes.slice(after + 1)
      expect(await text('sse')).toBe(`retry: 20\n\n${rest.map(frame).join('')}`)
      expect(await text('ndjson')).toBe(`\n${rest.join('\n')}\n`)
      expect(await text('json')).toBe(`{"events":[${rest.join(',')}],"cursor":5,"done":true}`)
    }
  })
})

test('[LOG-5] native: the bytes are the same live, on replay and after the store was reopened', async () => {
  const path = temporaryDatabase()
  const before = await serveNative({ store: await openSqliteStore({ path }) })
  const { id } = await startRun(before, 'text 30 every 1; big 40; bytes; say "dünen 🌊"')
  const live = followRun(before, id)
  await live.ended
  const replayed = await readLog(before, id)
  await before.close()
  const after = await serveNative({ store: await openSqliteStore({ path }) })
  expect(replayed.equals(live.log)).toBe(true)
  expect((await readLog(after, id)).equals(live.log)).toBe(true)
})

describe('native: the format of a stream', () => {
  test.each<[string, Record<string, string>, string]>([
    ['', { accept: 'text/event-stream' }, 'text/event-stream'],
    ['', { accept: '*/*' }, 'text/event-stream'],
    ['', { accept: 'application/x-ndjson' }, 'application/x-ndjson'],
    ['', { accept: 'application/json' }, 'application/json'],
    ['?wait=0', { accept: '*/*' }, 'application/json'],
    ['?format=json', { accept: 'text/event-stream' }, 'application/json'],
    ['?format=ndjson', { accept: 'application/json' }, 'application/x-ndjson'],
    ['?format=sse', { accept: 'application/json' }, 'text/event-stream'],
  ])('%s with %j is %s', async (query, headers, type) => {
    const server = await serveNative()
    const { id } = await startRun(server, '')
    await untilFinished(server, id)
    const answer = await fetch(`${server.url}/runs/${id}/events${query}`, { headers })
    expect(answer.headers.get('content-type')).toBe(`${type}; charset=utf-8`)
  })

  test('an unknown format is rejected', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, '')
    expect(await call(server, 'GET', `/runs/${id}/events?format=xml`)).toMatchObject({
      status: 400,
      body: { code: 'invalid_request' },
    })
  })
})

describe('native: an open stream', () => {
  test.each([
    ['sse', 'retry: 20\n\n', '\n\n'],
    ['ndjson', '\n', '\n'],
  ])('[SUB-3] a stream as %s sends its first bytes at once, before any event', async (format, preamble) => {
    const server = await serveNative({ limits: { heartbeatIntervalMs: 60_000 } })
    const { id } = await startRun(server, 'hang')
    const { events } = await untilStatus(server, id, ['running'])
    const { status, first, close } = await firstBytes(
      `${server.url}/runs/${id}/events?after=${events - 1}&format=${format}`,
    )
    expect(status).toBe(200)
    expect(first).toBe(preamble)
    close()
  })

  test('[SUB-3] sends comments as heartbeats, which are not events', async () => {
    const server = await serveNative({ limits: { heartbeatIntervalMs: 40 } })
    const { id } = await startRun(server, 'hang')
    const stream = followRun(server, id)
    await until('there are three heartbeats', () => stream.asides.filter((aside) => aside === ':\n\n').length >= 3)
    expect(stream.asides.slice(1)).toEqual(stream.asides.slice(1).fill(':\n\n'))
    stream.cut()
  })

  test('[SUB-3] sends no heartbeat while it has events', async () => {
    const server = await serveNative({ limits: { heartbeatIntervalMs: 5000 } })
    const { id } = await startRun(server, 'text 20 every 5')
    const stream = followRun(server, id)
    await stream.ended
    expect(stream.asides).toEqual(['retry: 20\n\n'])
  })

  test('[SUB-3] an NDJSON stream sends empty lines as heartbeats', async () => {
    const server = await serveNative({ limits: { heartbeatIntervalMs: 40 } })
    const { id } = await startRun(server, 'hang')
    const answer = await exchange(server.port, requestText(`GET ${server.base}/runs/${id}/events?format=ndjson`), {
      until: (text) => text.endsWith('\r\n1\r\n\n\r\n1\r\n\n\r\n'),
    })
    expect(answer).toContain('"type":"run.started"')
  })

  test('ends with the terminal event, and the connection can be reused', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 1')
    await untilFinished(server, id)
    const both = requestText(`GET ${server.base}/runs/${id}/events`) + requestText(`GET ${server.base}/health`)
    const answer = await exchange(server.port, both, { until: (text) => text.includes('"status":"ok"') })
    expect(answer.indexOf('event: run.completed')).toBeLessThan(answer.indexOf('"status":"ok"'))
  })

  test('[SUB-3] reports that the server is closing, and where to resume', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 2; hang')
    const sse = followRun(server, id)
    const ndjson = exchange(server.port, requestText(`GET ${server.base}/runs/${id}/events?format=ndjson`))
    await until('both streams have the last text', () => sse.events === 4)
    await until('there are two subscribers', () => server.service.health().subscribers === 2)
    await server.close()
    expect(await sse.ended).toBe('closed')
    const notice = `"run":"${id}","reason":"draining","cursor":${sse.events - 1},"retryMs":20}`
    expect(sse.asides.at(-1)).toBe(`event: stream.closing\ndata: {${notice}\n\n`)
    expect(await ndjson).toContain(`\n{"stream":"closing",${notice}\n`)
  })
})

describe('native: a stream that cannot continue', () => {
  /** More than the socket buffers between a server and a client that does not read. */
  const script = Array.from({ length: 12 }, () => 'big 2000').join('; ')

  test('[SUB-2, SUB-3] reports that the log was removed', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, script)
    const reader = await slowReader(server, id)
    await untilFinished(server, id)
    expect((await call(server, 'DELETE', `/runs/${id}`)).status).toBe(204)
    const { last, complete } = await reader.readOn()
    expect(last).toMatch(/^event: stream\.failed\ndata: \{.+\}\n\n$/)
    expect(JSON.parse(last.slice(last.indexOf('{')))).toEqual({
      run: id,
      code: 'not_found',
      message: expect.stringContaining(id),
      retryable: false,
    })
    expect(complete).toBe(true)
  })

  test('[SUB-2, SUB-3] reports that events were trimmed before it could read them', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, script)
    const reader = await slowReader(server, id)
    const { events } = await untilFinished(server, id)
    await server.store.trim(id, events - 1)
    const { last } = await reader.readOn()
    expect(last).toMatch(/^event: stream\.failed\n/)
    expect(last).toContain('"code":"cursor_expired"')
    expect(last).toContain(String(events - 1))
  })
})

describe('native: HEAD', () => {
  test.each(['hang', 'text 1'])('returns the headers of the stream at once, without a body: %j', async (script) => {
    const server = await serveNative({ limits: { maxSubscribersPerRun: 1 } })
    const { id } = await startRun(server, script)
    await untilStatus(server, id, ['running', 'completed'])
    for (let count = 0; count < 2; count++) {
      const response = await fetch(`${server.url}/runs/${id}/events`, {
        method: 'HEAD',
        signal: AbortSignal.timeout(20_000),
      })
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
      expect(await response.text()).toBe('')
    }
    expect(server.service.health().subscribers).toBe(0)
  })

  test.each(['/components', '/runs', '/health', '/openapi.json'])('HEAD %s is GET without the body', async (path) => {
    const server = await serveNative()
    const whole = await fetch(server.url + path)
    const head = await fetch(server.url + path, { method: 'HEAD' })
    expect(head.status).toBe(200)
    expect(await head.text()).toBe('')
    expect(head.headers.get('content-length')).toBe(String((await whole.arrayBuffer()).byteLength))
  })
})

test('native: a subscriber that disconnects no longer counts', async () => {
  const server = await serveNative()
  const { id } = await startRun(server, 'hang')
  const streams = Array.from({ length: 5 }, () => followRun(server, id))
  await until('all are there', () => server.service.health().subscribers === 5)
  for (const stream of streams) stream.cut()
  await expect.poll(() => server.service.health().subscribers).toBe(0)
})

/** What a client has in hand after the first packet. */
function firstBytes(url: string): Promise<{ status: number | undefined; first: string; close: () => void }> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false }, (response) => {
      response.once('data', (chunk: Buffer) =>
        resolve({ status: response.statusCode, first: chunk.toString(), close: () => request.destroy() }),
      )
      response.on('error', () => {}) // we closed it
    })
    request.on('error', reject)
  })
}

/** Follows a run, and reads nothing after the first bytes until resumed. */
function slowReader(target: Target, id: string): Promise<{ readOn(): Promise<{ last: string; complete: boolean }> }> {
  return new Promise((resolve, reject) => {
    const request = get(`${target.url}/runs/${id}/events`, { agent: false }, (response) => {
      const readOn = async () => {
        let tail = ''
        for await (const chunk of response) tail = (tail + String(chunk)).slice(-10_000)
        return { last: `${tail.split('\n\n').at(-2)}\n\n`, complete: response.complete }
      }
      resolve({ readOn })
    })
    request.on('error', reject)
  })
}
