/** Cursors of the native protocol: the stream resumes exactly, or the cursor is rejected. */
import { describe, expect, test } from 'vitest'
import { call, followRun, getRun, startRun, untilFinished, untilStatus } from '../../support/http.ts'
import { until } from '../../support/until.ts'
import { serveNative } from './serve.ts'
import type { EventPage } from './shapes.ts'

describe('native: a cursor', () => {
  test('[SUB-2] a cursor in Last-Event-ID overrides the one in the URL', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 5')
    await untilFinished(server, id)
    const { body } = await call<EventPage>(server, 'GET', `/runs/${id}/events?after=1&format=json`, {
      headers: { 'last-event-id': '4' },
    })
    expect(body.events[0]!.index).toBe(5)
  })

  test('[SUB-2] may name its run', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 5')
    await untilFinished(server, id)
    const { body } = await call<EventPage>(server, 'GET', `/runs/${id}/events?after=${id}:4&format=json`)
    expect(body.events[0]!.index).toBe(5)
  })

  test.for([
    'x',
    '1.5',
    '-2',
    '+1',
    '1e3',
    '0x1',
    '١',
    '1 ',
    '1,2',
    '9'.repeat(16),
    'run_other:1',
    ':1',
    '1:1:1',
    'null',
    'NaN',
  ])('[SUB-2] %j is rejected in every format', async (cursor) => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 1')
    for (const format of ['sse', 'json', 'ndjson']) {
      const answer = await call(
        server,
        'GET',
        `/runs/${id}/events?format=${format}&after=${encodeURIComponent(cursor)}`,
      )
      expect(answer).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } })
    }
  })

  test.each(['x', '1, 2', 'run_other:1', '999'])(
    '[SUB-2] %j in the header is rejected, whatever the URL has',
    async (cursor) => {
      const server = await serveNative()
      const { id } = await startRun(server, 'text 1')
      const answer = await call(server, 'GET', `/runs/${id}/events?after=0`, { headers: { 'last-event-id': cursor } })
      expect(answer).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } })
    },
  )

  test.each(['hang', 'text 1'])('[SUB-2] a cursor beyond the end is rejected: %j', async (script) => {
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

  test.each(['', '?after='])(
    'an empty cursor is ignored, and the stream begins at the first event: %j',
    async (query) => {
      const server = await serveNative()
      const { id } = await startRun(server, 'text 1')
      await untilFinished(server, id)
      const { body } = await call<EventPage>(server, 'GET', `/runs/${id}/events${query}`, {
        headers: { accept: 'application/json' },
      })
      expect(body.events[0]!.index).toBe(0)
    },
  )

  test('a cursor at the end of a finished run gets 204, which no cache may store', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 1')
    const { events } = await untilFinished(server, id)
    for (const format of ['sse', 'ndjson']) {
      const { status, headers, body } = await call(
        server,
        'GET',
        `/runs/${id}/events?after=${events - 1}&format=${format}`,
      )
      expect({ status, body }).toEqual({ status: 204, body: '' })
      expect(headers.get('cache-control')).toMatch(/no-store|no-cache/)
    }
    const page = await call<EventPage>(server, 'GET', `/runs/${id}/events?after=${events - 1}&format=json&wait=10000`)
    expect(page).toMatchObject({ status: 200, body: { events: [], cursor: events - 1, done: true } })
  })

  test('a cursor at the end of a live run waits for new events', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'ask Go on?; text 1')
    const { events } = await untilStatus(server, id, ['paused'])
    const stream = followRun(server, id, { after: events - 1 })
    expect(await stream.status()).toBe(200)
    await call(server, 'POST', `/runs/${id}/answers`, { body: { answer: 'yes' } })
    await stream.ended
    expect(stream.log.toString()).toMatch(new RegExp(`^id: ${events}\nevent: run.resumed\n`))
  })
})

describe.each(['memory', 'sqlite'] as const)('native: a trimmed run on the %s store', (store) => {
  const trimmed = async () => {
    const server = await serveNative({ store })
    const { id } = await startRun(server, 'text 5')
    const { events } = await untilFinished(server, id)
    await server.store.trim(id, 5)
    return { server, id, last: events - 1 }
  }

  test('[SUB-2] a stream without a cursor begins with the gap, then the retained events', async () => {
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

  test('[SUB-2] a cursor into the gap gets 410 with the earliest event', async () => {
    const { server, id } = await trimmed()
    for (const format of ['sse', 'json', 'ndjson', 'json&wait=10000']) {
      for (const after of [-1, 0, 3]) {
        const answer = await call(server, 'GET', `/runs/${id}/events?after=${after}&format=${format}`)
        expect(answer).toMatchObject({ status: 410, body: { code: 'cursor_expired', details: { earliest: 5 } } })
      }
    }
  })

  test('[SUB-2] a cursor just before the retained events has no gap', async () => {
    const { server, id } = await trimmed()
    const stream = followRun(server, id, { after: 4 })
    await stream.ended
    expect(stream.asides).toEqual(['retry: 20\n\n'])
    expect(stream.events).toBe(3)
    const { body } = await call<EventPage>(server, 'GET', `/runs/${id}/events?after=4&format=json`)
    expect(body).not.toHaveProperty('earliest')
  })
})

test('[SUB-3] native: a trimmed run with too many subscribers responds with a status, not within a stream', async () => {
  const server = await serveNative({ limits: { maxSubscribersPerRun: 1 } })
  const { id } = await startRun(server, 'text 5; hang')
  await until('the run has its texts', async () => (await getRun(server, id)).events === 7)
  await server.store.trim(id, 5)
  const first = followRun(server, id, { after: 4 })
  expect(await first.status()).toBe(200)
  expect(await call(server, 'GET', `/runs/${id}/events`)).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  first.cut()
})
