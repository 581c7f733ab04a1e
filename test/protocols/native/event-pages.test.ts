/** Reading a log over the native protocol in pages of JSON, with long-poll. */
import { Agent, get, type IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { call, startRun, stopRun, type Target, untilFinished, untilStatus } from '../../support/http.ts'
import { until } from '../../support/until.ts'
import { nextResponse } from './raw.ts'
import { serveNative } from './serve.ts'
import type { EventPage } from './shapes.ts'

describe('native: pages of JSON', () => {
  test('[LOG-1] pages of any size add up to the log', async () => {
    const server = await serveNative({ limits: { maxReadBytes: 700 } })
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

  test('have at most the maximum number of events', async () => {
    const server = await serveNative({ limits: { maxPageEvents: 4 } })
    const { id } = await startRun(server, 'text 20')
    await untilFinished(server, id)
    expect((await read(server, id, -1, 1000)).events).toHaveLength(4)
    expect((await call<EventPage>(server, 'GET', `/runs/${id}/events?format=json`)).body.events).toHaveLength(4)
  })

  test.each(['wait=-1', 'wait=x', 'wait=1.5', 'limit=0', 'limit=x'])(
    'a page request with %s is rejected',
    async (query) => {
      const server = await serveNative()
      const { id } = await startRun(server, '')
      expect(await call(server, 'GET', `/runs/${id}/events?format=json&${query}`)).toMatchObject({
        status: 400,
        body: { code: 'invalid_request' },
      })
    },
  )

  test('a page with wait returns at once if there are events', async () => {
    const server = await serveNative({ limits: { longPollTimeoutMs: 60_000 } })
    const { id } = await startRun(server, 'hang')
    await untilStatus(server, id, ['running'])
    expect(await wait(server, id, -1, 60_000)).toMatchObject({ cursor: 1, done: false })
  })

  test('a page with wait returns when an event arrives', async () => {
    const server = await serveNative({ limits: { longPollTimeoutMs: 60_000 } })
    const { id } = await startRun(server, 'ask Go on?; hang')
    const { events } = await untilStatus(server, id, ['paused'])
    const waiting = wait(server, id, events - 1, 60_000)
    await until('it waits', () => server.service.health().subscribers === 1)
    await call(server, 'POST', `/runs/${id}/answers`, { body: { answer: 1 } })
    expect((await waiting).events[0]).toMatchObject({ index: events, type: 'run.resumed' })
  })

  test('a page with wait returns when the run ends, and is marked as done', async () => {
    const server = await serveNative({ limits: { longPollTimeoutMs: 60_000 } })
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

  test('a page with wait returns empty after the time, with the same cursor', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'hang')
    const { events } = await untilStatus(server, id, ['running'])
    expect(await wait(server, id, events - 1, 30)).toEqual({ events: [], cursor: events - 1, done: false })
    expect(server.service.health().subscribers).toBe(0)
  })

  test('a page with wait returns after the maximum wait', async () => {
    const server = await serveNative({ limits: { longPollTimeoutMs: 30 } })
    const { id } = await startRun(server, 'hang')
    const { events } = await untilStatus(server, id, ['running'])
    expect(await wait(server, id, events - 1, 3_600_000)).toMatchObject({ events: [], done: false })
  })

  test('are no longer waited for when the client is gone', async () => {
    const server = await serveNative({ limits: { longPollTimeoutMs: 60_000 } })
    const { id } = await startRun(server, 'hang')
    const { events } = await untilStatus(server, id, ['running'])
    const request = get(`${server.url}/runs/${id}/events?format=json&wait=60000&after=${events - 1}`, { agent: false })
    request.on('error', () => {}) // it is we who go
    await until('it waits', () => server.service.health().subscribers === 1)
    request.destroy()
    await expect.poll(() => server.service.health().subscribers).toBe(0)
  })

  test('[SUB-3] a page with wait returns when the server closes', async () => {
    const server = await serveNative({ limits: { longPollTimeoutMs: 60_000 } })
    const { id } = await startRun(server, 'hang')
    const { events } = await untilStatus(server, id, ['running'])
    const waiting = wait(server, id, events - 1, 60_000)
    await until('it waits', () => server.service.health().subscribers === 1)
    await server.close()
    const page = await waiting
    expect(page.done).toBe(false)
    expect(page.cursor).toBe(events - 1 + page.events.length)
  })
})

test('[SUB-1] native: a client that requests a page and does not read it is disconnected, like one that streams', async () => {
  const limits = {
    maxEventBytes: 30_000_000,
    subscriberStallTimeoutMs: 100,
    longPollTimeoutMs: 100,
    heartbeatIntervalMs: 50,
  }
  const server = await serveNative({ limits })
  const { id } = await startRun(server, 'big 20000')
  await untilFinished(server, id)
  const answering = nextResponse()
  const request = get(`${server.url}/runs/${id}/events?format=json&after=1`, { agent: false }, (answer) => {
    answer.on('error', () => {}) // and takes nothing of it
  })
  request.on('error', () => {}) // being reset is being cut
  const response = await answering
  await until('it is cut', () => response.destroyed)
  expect(response.writableFinished).toBe(false)
  request.destroy()
})

test('native: a connection whose response was read slowly is still closed when idle', async () => {
  const server = await serveNative({ limits: { maxEventBytes: 30_000_000 } })
  const { id } = await startRun(server, 'big 20000')
  await untilFinished(server, id)
  const agent = new Agent({ keepAlive: true })
  const answering = nextResponse()
  const answered = new Promise<IncomingMessage>((resolve) => {
    get(`${server.url}/runs/${id}/events?format=json&after=1`, { agent }, resolve)
  })
  const response = await answering
  const { socket } = response
  const answer = await answered
  await until('the server waits for its client', () => response.writableLength > 0)
  answer.resume()
  await new Promise((resolve) => response.once('close', resolve))
  expect(response.writableFinished).toBe(true)
  expect(socket?.timeout).toBeGreaterThan(0)
  agent.destroy()
})

async function read(target: Target, id: string, after: number, limit: number): Promise<EventPage> {
  return (await call<EventPage>(target, 'GET', `/runs/${id}/events?format=json&after=${after}&limit=${limit}`)).body
}

async function wait(target: Target, id: string, after: number, waitMs: number): Promise<EventPage> {
  return (await call<EventPage>(target, 'GET', `/runs/${id}/events?after=${after}&wait=${waitMs}`)).body
}
