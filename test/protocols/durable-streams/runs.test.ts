/** The log of a run as a durable stream. */
import { stream } from '@durable-streams/client'
import { describe, expect, test } from 'vitest'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import type { LoggedEvent } from '../../../src/core/model/event.ts'
import type { Server } from '../../../src/server/create-server.ts'
import { EventParser, type ParsedEvent } from '../../../src/sse/index.ts'
import { newestLog, serveChats } from '../ai-sdk/serve.ts'
import { call } from '../../support/http.ts'

/** The address of a finished run's stream. */
async function finishedRun(server: Server, input = 'text 40'): Promise<{ readonly id: string; readonly url: string }> {
  const { id } = (await call<{ id: string }>(server, 'POST', '/runs', { body: { component: 'lab', input } })).body
  await server.service.waitForMore(localPrincipal, id, -1, 1000, AbortSignal.timeout(60_000))
  await expect.poll(async () => (await server.service.get(localPrincipal, id)).run.status).toBe('completed')
  return { id, url: `${server.url}/v1/stream/${id}` }
}

const offsetOf = (next: number): string => `${String(next).padStart(16, '0')}_${'0'.repeat(16)}`

describe('Durable Streams: a run', () => {
  test('Durable Streams: the official client reads every event of a run', async () => {
    const server = await serveChats()
    const { url } = await finishedRun(server)
    const log = await newestLog(server)
    const response = await stream<LoggedEvent>({ url, offset: '-1', live: false })
    expect(await response.json()).toEqual(log)
  })

  test('[LOG-5] Durable Streams: from every offset, catch-up, long-poll and events give the rest of the log', async () => {
    const server = await serveChats()
    const { url } = await finishedRun(server, 'text 5')
    const log = await newestLog(server)
    for (let next = 0; next <= log.length; next++) {
      const rest = log.slice(next)
      const page = await fetch(`${url}?offset=${offsetOf(next)}`)
      expect(page.headers.get('stream-next-offset')).toBe(offsetOf(log.length))
      expect(page.headers.get('stream-closed')).toBe('true')
      expect(await page.json()).toEqual(rest)
      const poll = await fetch(`${url}?offset=${offsetOf(next)}&live=long-poll`)
      expect(poll.status).toBe(rest.length === 0 ? 204 : 200)
      expect(await poll.text()).toBe(rest.length === 0 ? '' : JSON.stringify(rest))
      const frames: ParsedEvent[] = []
      const parser = new EventParser({ event: (frame) => frames.push(frame) })
      parser.push(await (await fetch(`${url}?offset=${offsetOf(next)}&live=sse`)).text())
      const data = frames
        .filter(({ event }) => event === 'data')
        .flatMap((frame) => JSON.parse(frame.data) as unknown[])
      expect(data).toEqual(rest)
      expect(JSON.parse(frames.at(-1)!.data)).toEqual({
        streamNextOffset: offsetOf(log.length),
        streamClosed: true,
        upToDate: true,
      })
    }
    expect((await fetch(`${url}?offset=${offsetOf(log.length + 1)}`)).status).toBe(400)
  })

  test('Durable Streams: the history of a finished run is immutable, and known parts are not sent again', async () => {
    const server = await serveChats()
    const { url } = await finishedRun(server)
    const first = await fetch(url)
    expect(first.headers.get('cache-control')).toContain('immutable')
    const again = await fetch(url, { headers: { 'if-none-match': first.headers.get('etag')! } })
    expect(again.status).toBe(304)
  })

  test('Durable Streams: catch-up is compressed on request, events are not', async () => {
    const server = await serveChats()
    const { url } = await finishedRun(server)
    const encoding = async (query: string, accepted: string): Promise<string | null> => {
      const response = await fetch(url + query, { headers: { 'accept-encoding': accepted } })
      await response.text()
      return response.headers.get('content-encoding')
    }
    expect(await encoding('', 'gzip')).toBe('gzip')
    expect(await encoding('', 'identity')).toBeNull()
    expect(await encoding('', 'gzip;q=0')).toBeNull()
    expect(await encoding('?offset=-1&live=sse', 'gzip')).toBeNull()
  })

  test('[LOG-4] Durable Streams: only its component writes a run', async () => {
    const server = await serveChats()
    const { url } = await finishedRun(server)
    for (const method of ['PUT', 'POST', 'DELETE']) {
      const response = await fetch(url, { method, headers: { 'content-type': 'application/json' } })
      expect([method, response.status, response.headers.get('allow')]).toEqual([method, 405, 'GET, HEAD'])
    }
  })
})
