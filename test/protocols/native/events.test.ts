/** Reading a log over the native protocol: as server-sent events, as pages of JSON, as NDJSON. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { get, type ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { createFakeClock } from '../../../src/testing/fake-clock.ts'
import { EventStream } from '../../support/event-stream.ts'
import { call, followRun, getRun, readLog, startRun, stopRun, type Target, untilFinished, untilStatus } from '../../support/http.ts'
import { temporaryDatabase } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'
import { exchange, requestText } from './raw.ts'
import { serveNative } from './serve.ts'

interface EventPage {
  readonly events: readonly { readonly index: number; readonly type: string }[]
  readonly cursor: number
  readonly done: boolean
  readonly earliest?: number
}

/** Ids that can be foretold. */
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

describe.each(['memory', 'sqlite'] as const)('the bytes of a log on the %s store', (store) => {
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

  test('[LOG-5] as server-sent events: a retry hint, then id, event and the stored envelope of each', async () => {
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

  test('[LOG-5] as NDJSON: the stored envelope of each on a line of its own', async () => {
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

  test('[LOG-5] as a page of JSON: the stored envelopes in a list', async () => {
    const { server, envelopes } = await foretold()
    const response = await fetch(`${server.url}/runs/run_1/events`, { headers: { accept: 'application/json' } })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await response.text()).toBe(`{"events":[${envelopes.join(',')}],"cursor":5,"done":true}`)
  })

  test('[SUB-2] each cursor gives exactly what follows it, in every form', async () => {
    const { server, envelopes } = await foretold()
    for (let after = -1; after < 5; after++) {
      const read = async (format: string) => (await fetch(`${server.url}/runs/run_1/events?after=${after}&format=${format}`)).text()
      const rest = envelopes.slice(after + 1)
      expect(await read('sse')).toBe(`retry: 20\n\n${rest.map(frame).join('')}`)
      expect(await read('ndjson')).toBe(`\n${rest.join('\n')}\n`)
      expect(await read('json')).toBe(`{"events":[${rest.join(',')}],"cursor":5,"done":true}`)
    }
  })
})

test('[LOG-5] the bytes are the same live, on replay and after the store was opened again', async () => {
  const path = temporaryDatabase()
  const before = await serveNative({ store: await openSqliteStore({ path }) })
  const { id } = await startRun(before, 'text 30 every 1; big 40; bytes; say "dünen 🌊"')
  const live = followRun(before, id)
  await live.ended
  const replayed = await readLog(before, id)
  await before.stop()
  const after = await serveNative({ store: await openSqliteStore({ path }) })
  expect(replayed.equals(live.log)).toBe(true)
  expect((await readLog(after, id)).equals(live.log)).toBe(true)
})

describe('what a stream is asked for with', () => {
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

  test('an unknown format is refused', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, '')
    expect(await call(server, 'GET', `/runs/${id}/events?format=xml`)).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  })
})

describe('an open stream', () => {
  test.each([
    ['sse', 'retry: 20\n\n', '\n\n'],
    ['ndjson', '\n', '\n'],
  ])('[SUB-3] as %s has its first bytes at once, before there is any event for it', async (format, preamble) => {
    const server = await serveNative({ limits: { heartbeatMs: 60_000 } })
    const { id } = await startRun(server, 'hang')
    const { events } = await untilStatus(server, id, ['running'])
    const { status, first, close } = await firstBytes(`${server.url}/runs/${id}/events?after=${events - 1}&format=${format}`)
    expect(status).toBe(200)
    expect(first).toBe(preamble)
    close()
  })

  test('[SUB-3] shows life in silence with comments, which are no events', async () => {
    const server = await serveNative({ limits: { heartbeatMs: 40 } })
    const { id } = await startRun(server, 'hang')
    const stream = followRun(server, id)
    await until('there are three heartbeats', () => stream.asides.filter((aside) => aside === ':\n\n').length >= 3)
    expect(stream.asides.slice(1)).toEqual(stream.asides.slice(1).fill(':\n\n'))
    stream.cut()
  })

  test('[SUB-3] shows no life that nobody needs: a stream with events has no heartbeat', async () => {
    const server = await serveNative({ limits: { heartbeatMs: 5000 } })
    const { id } = await startRun(server, 'text 20 every 5')
    const stream = followRun(server, id)
    await stream.ended
    expect(stream.asides).toEqual(['retry: 20\n\n'])
  })

  test('[SUB-3] as NDJSON shows life with empty lines', async () => {
    const server = await serveNative({ limits: { heartbeatMs: 40 } })
    const { id } = await startRun(server, 'hang')
    const answer = await exchange(server.port, requestText(`GET /runs/${id}/events?format=ndjson`), {
      until: (text) => text.endsWith('\r\n1\r\n\n\r\n1\r\n\n\r\n'),
    })
    expect(answer).toContain('"type":"run.started"')
  })

  test('ends with the terminal event, and the connection can be used again', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 1')
    await untilFinished(server, id)
    const both = requestText(`GET /runs/${id}/events`) + requestText('GET /health')
    const answer = await exchange(server.port, both, { until: (text) => text.includes('"status":"ok"') })
    expect(answer.indexOf('event: run.completed')).toBeLessThan(answer.indexOf('"status":"ok"'))
  })

  test('[SUB-3] says that the server is closing, and where to come back', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 2; hang')
    const sse = followRun(server, id)
    const ndjson = exchange(server.port, requestText(`GET /runs/${id}/events?format=ndjson`))
    await until('both streams have the last text', () => sse.events === 4)
    await until('there are two subscribers', () => server.service.health().subscribers === 2)
    await server.stop()
    expect(await sse.ended).toBe('closed')
    const notice = `"run":"${id}","reason":"draining","cursor":3,"retryMs":20}`
    expect(sse.asides.at(-1)).toBe(`event: stream.closing\ndata: {${notice}\n\n`)
    expect(await ndjson).toContain(`\n{"stream":"closing",${notice}\n`)
  })
})

describe('a stream that cannot go on', () => {
  /** More than what the sockets between a client that does not read and its server can hold. */
  const script = Array.from({ length: 12 }, () => 'big 2000').join('; ')

  test('[SUB-2, SUB-3] says that the log is gone', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, script)
    const reader = await slowReader(server, id)
    await untilFinished(server, id)
    expect((await call(server, 'DELETE', `/runs/${id}`)).status).toBe(204)
    const { last, complete } = await reader.readOn()
    expect(last).toMatch(/^event: stream\.failed\ndata: \{.+\}\n\n$/)
    expect(JSON.parse(last.slice(last.indexOf('{')))).toEqual({ run: id, code: 'not_found', message: expect.stringContaining(id), retryable: false })
    expect(complete).toBe(true)
  })

  test('[SUB-2, SUB-3] says that events were trimmed before it could read them', async () => {
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

describe('HEAD', () => {
  test.each(['hang', 'text 1'])('has the headers of the stream at once, and no body: %j', async (script) => {
    const server = await serveNative({ limits: { subscribersPerRunMax: 1 } })
    const { id } = await startRun(server, script)
    await untilStatus(server, id, ['running', 'completed'])
    for (let count = 0; count < 2; count++) {
      const response = await fetch(`${server.url}/runs/${id}/events`, { method: 'HEAD', signal: AbortSignal.timeout(2000) })
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
      expect(await response.text()).toBe('')
    }
    expect(server.service.health().subscribers).toBe(0)
  })

  test.each(['/components', '/runs', '/health', '/openapi.json'])('of %s is GET without the body', async (path) => {
    const server = await serveNative()
    const whole = await fetch(server.url + path)
    const head = await fetch(server.url + path, { method: 'HEAD' })
    expect(head.status).toBe(200)
    expect(await head.text()).toBe('')
    expect(head.headers.get('content-length')).toBe(String((await whole.arrayBuffer()).byteLength))
  })
})

describe('a cursor', () => {
  test('[SUB-2] in Last-Event-ID is newer than the one in the URL', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 5')
    await untilFinished(server, id)
    const { body } = await call<EventPage>(server, 'GET', `/runs/${id}/events?after=1&format=json`, { headers: { 'last-event-id': '4' } })
    expect(body.events[0]!.index).toBe(5)
  })

  test('[SUB-2] may name its run', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 5')
    await untilFinished(server, id)
    const { body } = await call<EventPage>(server, 'GET', `/runs/${id}/events?after=${id}:4&format=json`)
    expect(body.events[0]!.index).toBe(5)
  })

  test.for(['x', '1.5', '-2', '+1', '1e3', '0x1', '١', '1 ', '1,2', '9'.repeat(16), 'run_other:1', ':1', '1:1:1', 'null', 'NaN'])(
    '[SUB-2] %j is refused, in every form',
    async (cursor) => {
      const server = await serveNative()
      const { id } = await startRun(server, 'text 1')
      for (const format of ['sse', 'json', 'ndjson']) {
        const answer = await call(server, 'GET', `/runs/${id}/events?format=${format}&after=${encodeURIComponent(cursor)}`)
        expect(answer).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } })
      }
    },
  )

  test.each(['x', '1, 2', 'run_other:1', '999'])('[SUB-2] %j in the header is refused, whatever the URL says', async (cursor) => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 1')
    const answer = await call(server, 'GET', `/runs/${id}/events?after=0`, { headers: { 'last-event-id': cursor } })
    expect(answer).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } })
  })

  test.each(['hang', 'text 1'])('[SUB-2] beyond the end is refused: %j', async (script) => {
    const server = await serveNative()
    const { id } = await startRun(server, script)
    await untilStatus(server, id, ['running', 'completed'])
    const { events } = await getRun(server, id)
    for (const after of [events, events + 1, 999_999_999_999_999]) {
      for (const format of ['sse', 'json', 'ndjson', 'json&wait=10000']) {
        const answer = await call(server, 'GET', `/runs/${id}/events?after=${after}&format=${format}`)
        expect(answer).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } })
      }
    }
  })

  test.each(['', '?after='])('that is empty is none, and the stream begins at the first event: %j', async (query) => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 1')
    await untilFinished(server, id)
    const { body } = await call<EventPage>(server, 'GET', `/runs/${id}/events${query}`, { headers: { accept: 'application/json' } })
    expect(body.events[0]!.index).toBe(0)
  })

  test('at the end of a finished run is answered with 204, which no cache may keep', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 1')
    const { events } = await untilFinished(server, id)
    for (const format of ['sse', 'ndjson']) {
      const { status, headers, body } = await call(server, 'GET', `/runs/${id}/events?after=${events - 1}&format=${format}`)
      expect({ status, body }).toEqual({ status: 204, body: '' })
      expect(headers.get('cache-control')).toMatch(/no-store|no-cache/)
    }
    const page = await call<EventPage>(server, 'GET', `/runs/${id}/events?after=${events - 1}&format=json&wait=10000`)
    expect(page).toMatchObject({ status: 200, body: { events: [], cursor: events - 1, done: true } })
  })

  test('at the end of a run that goes on waits for what comes', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'ask Go on?; text 1')
    const { events } = await untilStatus(server, id, ['paused'])
    const stream = followRun(server, id, { after: events - 1 })
    expect(await stream.status()).toBe(200)
    await call(server, 'POST', `/runs/${id}/input`, { body: { answer: 'yes' } })
    await stream.ended
    expect(stream.log.toString()).toMatch(new RegExp(`^id: ${events}\nevent: run.resumed\n`))
  })
})

describe.each(['memory', 'sqlite'] as const)('a run that was trimmed, on the %s store', (store) => {
  const trimmed = async () => {
    const server = await serveNative({ store })
    const { id } = await startRun(server, 'text 5')
    const { events } = await untilFinished(server, id)
    await server.store.trim(id, 5)
    return { server, id, last: events - 1 }
  }

  test('[SUB-2] without a cursor begins with the gap, then with what is kept', async () => {
    const { server, id } = await trimmed()
    const stream = followRun(server, id)
    expect(await stream.ended).toBe('closed')
    const notice = `{"run":"${id}","earliest":5,"message":"events before 5 were trimmed"}`
    expect(stream.asides).toEqual(['retry: 20\n\n', `event: stream.gap\ndata: ${notice}\n\n`])
    expect(stream.log.toString()).toMatch(/^id: 5\n/)
    expect(stream.events).toBe(3)

    const ndjson = await (await fetch(`${server.url}/runs/${id}/events?format=ndjson`)).text()
    expect(ndjson.split('\n')[1]).toBe(`{"stream":"gap",${notice.slice(1)}`)
    const json = await call<EventPage>(server, 'GET', `/runs/${id}/events?format=json`)
    expect(json.body).toMatchObject({ earliest: 5, cursor: 7, done: true })
    expect(json.body.events.map(({ index }) => index)).toEqual([5, 6, 7])
  })

  test('[SUB-2] with a cursor into the gap is refused with 410 and the earliest event', async () => {
    const { server, id } = await trimmed()
    for (const format of ['sse', 'json', 'ndjson', 'json&wait=10000']) {
      for (const after of [-1, 0, 3]) {
        const answer = await call(server, 'GET', `/runs/${id}/events?after=${after}&format=${format}`)
        expect(answer).toMatchObject({ status: 410, body: { code: 'cursor_expired', details: { earliest: 5 } } })
      }
    }
  })

  test('[SUB-2] with a cursor just before what is kept is answered without a gap', async () => {
    const { server, id } = await trimmed()
    const stream = followRun(server, id, { after: 4 })
    await stream.ended
    expect(stream.asides).toEqual(['retry: 20\n\n'])
    expect(stream.events).toBe(3)
    const { body } = await call<EventPage>(server, 'GET', `/runs/${id}/events?after=4&format=json`)
    expect(body).not.toHaveProperty('earliest')
  })
})

test('[SUB-3] a trimmed run with no room for another subscriber says so by status, not in the middle of a stream', async () => {
  const server = await serveNative({ limits: { subscribersPerRunMax: 1 } })
  const { id } = await startRun(server, 'text 5; hang')
  await until('the run has its texts', async () => (await getRun(server, id)).events === 7)
  await server.store.trim(id, 5)
  const first = followRun(server, id, { after: 4 })
  expect(await first.status()).toBe(200)
  expect(await call(server, 'GET', `/runs/${id}/events`)).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  first.cut()
})

describe('pages of JSON', () => {
  test('[LOG-1] put together are the log, whatever their size', async () => {
    const server = await serveNative({ limits: { readBytesMax: 700 } })
    const { id } = await startRun(server, 'text 20')
    await untilFinished(server, id)
    for (const limit of [1, 3, 7, 1000]) {
      const indexes: number[] = []
      for (let page = await read(server, id, -1, limit); ; page = await read(server, id, page.cursor, limit)) {
        expect(page.events.length).toBeLessThanOrEqual(limit)
        indexes.push(...page.events.map(({ index }) => index))
        expect(page.cursor).toBe(indexes.at(-1))
        if (page.done) break
      }
      expect(indexes).toEqual(Array.from({ length: 23 }, (_, index) => index))
    }
  })

  test('have at most the bound of events', async () => {
    const server = await serveNative({ limits: { pageEventsMax: 4 } })
    const { id } = await startRun(server, 'text 20')
    await untilFinished(server, id)
    expect((await read(server, id, -1, 1000)).events).toHaveLength(4)
    expect((await call<EventPage>(server, 'GET', `/runs/${id}/events?format=json`)).body.events).toHaveLength(4)
  })

  test.each(['wait=-1', 'wait=x', 'wait=1.5', 'limit=0', 'limit=x'])('with %s are refused', async (query) => {
    const server = await serveNative()
    const { id } = await startRun(server, '')
    expect(await call(server, 'GET', `/runs/${id}/events?format=json&${query}`)).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  })

  test('with wait come at once when there is something', async () => {
    const server = await serveNative({ limits: { longPollMs: 60_000 } })
    const { id } = await startRun(server, 'hang')
    await untilStatus(server, id, ['running'])
    expect(await wait(server, id, -1, 60_000)).toMatchObject({ cursor: 1, done: false })
  })

  test('with wait come when an event does', async () => {
    const server = await serveNative({ limits: { longPollMs: 60_000 } })
    const { id } = await startRun(server, 'ask Go on?; hang')
    const { events } = await untilStatus(server, id, ['paused'])
    const waiting = wait(server, id, events - 1, 60_000)
    await until('it waits', () => server.service.health().subscribers === 1)
    await call(server, 'POST', `/runs/${id}/input`, { body: { answer: 1 } })
    expect((await waiting).events[0]).toMatchObject({ index: events, type: 'run.resumed' })
  })

  test('with wait come when the run ends, and say that it has', async () => {
    const server = await serveNative({ limits: { longPollMs: 60_000 } })
    const { id } = await startRun(server, 'hang')
    const { events } = await untilStatus(server, id, ['running'])
    const waiting = wait(server, id, events - 1, 60_000)
    await until('it waits', () => server.service.health().subscribers === 1)
    await stopRun(server, id)
    let page = await waiting
    while (!page.done) page = await wait(server, id, page.cursor, 60_000)
    expect(page.events.at(-1)).toMatchObject({ type: 'run.cancelled' })
    expect(await wait(server, id, page.cursor, 60_000)).toEqual({ events: [], cursor: page.cursor, done: true })
  })

  test('with wait come empty when the time is over, and the cursor stays', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'hang')
    const { events } = await untilStatus(server, id, ['running'])
    expect(await wait(server, id, events - 1, 30)).toEqual({ events: [], cursor: events - 1, done: false })
    expect(server.service.health().subscribers).toBe(0)
  })

  test('wait no longer than the bound', async () => {
    const server = await serveNative({ limits: { longPollMs: 30 } })
    const { id } = await startRun(server, 'hang')
    const { events } = await untilStatus(server, id, ['running'])
    expect(await wait(server, id, events - 1, 3_600_000)).toMatchObject({ events: [], done: false })
  })

  test('are no longer waited for when the client is gone', async () => {
    const server = await serveNative({ limits: { longPollMs: 60_000 } })
    const { id } = await startRun(server, 'hang')
    const { events } = await untilStatus(server, id, ['running'])
    const gone = new AbortController()
    const waiting = fetch(`${server.url}/runs/${id}/events?format=json&wait=60000&after=${events - 1}`, { signal: gone.signal })
    await until('it waits', () => server.service.health().subscribers === 1)
    gone.abort()
    await expect(waiting).rejects.toThrow('aborted')
    await until('nobody waits', () => server.service.health().subscribers === 0)
  })

  test('[SUB-3] that are waited for are answered when the server closes', async () => {
    const server = await serveNative({ limits: { longPollMs: 60_000 } })
    const { id } = await startRun(server, 'hang')
    const { events } = await untilStatus(server, id, ['running'])
    const waiting = wait(server, id, events - 1, 60_000)
    await until('it waits', () => server.service.health().subscribers === 1)
    await server.stop()
    expect(await waiting).toMatchObject({ events: [], cursor: events - 1, done: false })
  })
})

test('[SUB-1] a client that asks for a page and does not take it is cut, as one that follows is', async () => {
  const limits = { eventBytesMax: 30_000_000, subscriberStallMs: 100, longPollMs: 100, heartbeatMs: 50 }
  const server = await serveNative({ limits })
  const { id } = await startRun(server, 'big 20000')
  await untilFinished(server, id)
  const answering = nextResponse()
  const request = get(`${server.url}/runs/${id}/events?format=json&after=1`, { agent: false })
  request.on('error', () => {}) // being reset is being cut
  const response = await answering
  await until('it is cut', () => response.destroyed)
  expect(response.writableFinished).toBe(false)
  request.destroy()
})

test('a subscriber that goes away gives its place back', async () => {
  const server = await serveNative()
  const { id } = await startRun(server, 'hang')
  const streams = Array.from({ length: 5 }, () => followRun(server, id))
  await until('all are there', () => server.service.health().subscribers === 5)
  for (const stream of streams) stream.cut()
  await until('all are gone', () => server.service.health().subscribers === 0)
})

async function read(target: Target, id: string, after: number, limit: number): Promise<EventPage> {
  return (await call<EventPage>(target, 'GET', `/runs/${id}/events?format=json&after=${after}&limit=${limit}`)).body
}

async function wait(target: Target, id: string, after: number, waitMs: number): Promise<EventPage> {
  return (await call<EventPage>(target, 'GET', `/runs/${id}/events?after=${after}&wait=${waitMs}`)).body
}

/** The server's end of the request that comes next. */
function nextResponse(): Promise<ServerResponse> {
  return new Promise((resolve) => {
    const note = (message: unknown): void => {
      unsubscribe('http.server.request.start', note)
      resolve((message as { response: ServerResponse }).response)
    }
    subscribe('http.server.request.start', note)
  })
}

/** What a client has in hand after the first packet. */
function firstBytes(url: string): Promise<{ status: number | undefined; first: string; close: () => void }> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false }, (response) => {
      response.once('data', (chunk: Buffer) => resolve({ status: response.statusCode, first: chunk.toString(), close: () => request.destroy() }))
      response.on('error', () => {}) // we closed it
    })
    request.on('error', reject)
  })
}

/** Follows a run, and takes nothing after the first bytes until it is told to. */
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
