/** Late joiners: a snapshot and its tail, the last events, and only new ones, each in one request. */
import { describe, expect, test } from 'vitest'
import { RunStructure } from '../../../src/core/structure/run-structure.ts'
import type { SavedStructure } from '../../../src/core/structure/saved-structure.ts'
import type { LoggedEvent } from '../../../src/core/model/event.ts'
import { type ParsedEvent, EventParser } from '../../../src/sse/index.ts'
import { EventStream } from '../../support/event-stream.ts'
import { answerRun, call, getRun, readEvents, startRun, untilFinished, untilStatus } from '../../support/http.ts'
import { until } from '../../support/until.ts'
import { type NativeServer, serveNative } from './serve.ts'
import type { EventPage } from './shapes.ts'

const SCRIPT = 'text 5; tool search; artifact note 1; say half; ask Go on?; text 3; tool again; usage 3 4'

interface Snapshot {
  readonly run: string
  readonly cursor: number
  readonly id: string
  readonly earliest?: number
  readonly structure: SavedStructure
}

/** Entries and state without fields that are undefined. */
function shown(structure: RunStructure): unknown {
  return JSON.parse(JSON.stringify(structure.save()))
}

async function structureOf(server: NativeServer, id: string): Promise<unknown> {
  const structure = new RunStructure()
  for (const event of await readEvents(server, id)) structure.apply(event as unknown as LoggedEvent)
  return shown(structure)
}

async function paused(server: NativeServer): Promise<string> {
  const { id } = await startRun(server, SCRIPT)
  await untilStatus(server, id, ['paused'])
  return id
}

function framesOf(text: string): ParsedEvent[] {
  const frames: ParsedEvent[] = []
  new EventParser({ event: (frame) => frames.push(frame) }).push(text)
  return frames
}

function follow(server: NativeServer, id: string, query: string, headers = {}): EventStream {
  return new EventStream(`${server.url}/runs/${id}/events?${query}`, { headers })
}

describe('native: a snapshot', () => {
  test('[SUB-2] is followed by the events after it, which lead to the structure of the whole log', async () => {
    const server = await serveNative()
    const id = await paused(server)
    const { events } = await getRun(server, id)
    const stream = follow(server, id, 'snapshot=1')
    await until('the snapshot is here', () => stream.asides.some((aside) => aside.includes('stream.snapshot')))
    await answerRun(server, id, 'yes')
    await stream.ended
    const [first, ...rest] = framesOf(Buffer.concat(stream.frames).toString())
    expect(first!.event).toBe('stream.snapshot')
    const snapshot = JSON.parse(first!.data) as Snapshot
    expect(snapshot).toMatchObject({ run: id, cursor: events - 1, id: first!.id })
    const structure = RunStructure.restore(snapshot.structure)
    expect(structure.lifecycle.status).toBe('paused')
    for (const { data } of rest) structure.apply(JSON.parse(data) as LoggedEvent)
    expect(rest.map((frame) => frame.id)).toEqual(
      Array.from({ length: rest.length }, (_, at) => String(snapshot.cursor + 1 + at)),
    )
    expect(shown(structure)).toEqual(await structureOf(server, id))
  })

  test('of a finished run ends the response, and a reconnect with its id gets 204', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 5')
    await untilFinished(server, id)
    const { status, body } = await call<string>(server, 'GET', `/runs/${id}/events?snapshot=1`)
    expect(status).toBe(200)
    const [frame, ...others] = framesOf(body)
    expect(others).toEqual([])
    expect((JSON.parse(frame!.data) as Snapshot).structure).toEqual(await structureOf(server, id))
    expect(frame!.id).toMatch(/^\d+~[0-9a-f]{8}$/)
    const again = await call(server, 'GET', `/runs/${id}/events?snapshot=1`, {
      headers: { 'last-event-id': frame!.id! },
    })
    expect(again.status).toBe(204)
  })

  test('an EventSource that reconnects gets the events after the snapshot, and no other snapshot', async () => {
    const server = await serveNative()
    const id = await paused(server)
    const { body } = await call<EventPage & { snapshot: Snapshot }>(
      server,
      'GET',
      `/runs/${id}/events?snapshot=1&format=json`,
    )
    expect(body.events).toEqual([])
    expect(body).toMatchObject({ cursor: body.snapshot.cursor, done: false })
    await answerRun(server, id, 'yes')
    const stream = follow(server, id, 'snapshot=1', { 'last-event-id': body.snapshot.id })
    await stream.ended
    const [first] = framesOf(Buffer.concat(stream.frames).toString())
    expect([first!.event, first!.id]).toEqual(['run.resumed', String(body.snapshot.cursor + 1)])
  })

  test('in NDJSON is the first line', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 5')
    await untilFinished(server, id)
    const { body } = await call<string>(server, 'GET', `/runs/${id}/events?snapshot=1&format=ndjson`)
    const [line, ...others] = body.trim().split('\n')
    expect(others).toEqual([])
    expect(JSON.parse(line!)).toMatchObject({ stream: 'snapshot', run: id, structure: await structureOf(server, id) })
  })

  test('of a trimmed run names the earliest event, and contains what is left', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 8')
    await untilFinished(server, id)
    await server.store.trim(id, 5)
    const { body } = await call<{ snapshot: Snapshot }>(server, 'GET', `/runs/${id}/events?snapshot=1&format=json`)
    expect(body.snapshot.earliest).toBe(5)
    expect(RunStructure.restore(body.snapshot.structure).lifecycle.status).toBe('completed')
  })

  test('that does not fit one response is refused with a way out', async () => {
    const server = await serveNative({ limits: { maxResponseBytes: 1024 } })
    const { id } = await startRun(server, 'big 3')
    await untilFinished(server, id)
    for (const format of ['sse', 'ndjson', 'json']) {
      const { status, body } = await call(server, 'GET', `/runs/${id}/events?snapshot=1&format=${format}`)
      expect(status).toBe(413)
      expect(body).toMatchObject({ code: 'too_large', detail: expect.stringContaining('tail=1000') as string })
    }
  })
})

describe('native: the end of a log', () => {
  test('tail=N delivers the last N events, then new ones', async () => {
    const server = await serveNative()
    const id = await paused(server)
    const { events } = await getRun(server, id)
    const stream = follow(server, id, 'tail=3')
    await until('three events are here', () => stream.events === 3)
    await answerRun(server, id, 'yes')
    await stream.ended
    const [opening, ...rest] = framesOf(Buffer.concat(stream.frames).toString())
    expect(opening).toMatchObject({ event: 'stream.progress', id: expect.stringMatching(`^${events - 4}~`) as string })
    const log = await readEvents(server, id)
    expect(rest.map(({ data }) => JSON.parse(data) as unknown)).toEqual(log.slice(events - 3))
  })

  test.each(['after=end', 'tail=0'])('%s delivers only new events, and says first where it is', async (query) => {
    const server = await serveNative()
    const id = await paused(server)
    const { events } = await getRun(server, id)
    const stream = follow(server, id, query)
    await until('the position is here', () => stream.asides.some((aside) => aside.includes('stream.progress')))
    const [opening] = framesOf(Buffer.concat(stream.frames).toString())
    expect(JSON.parse(opening!.data)).toEqual({ run: id, cursor: events - 1, id: opening!.id })
    stream.cut()
    await answerRun(server, id, 'yes')
    const resumed = follow(server, id, query, { 'last-event-id': opening!.id! })
    await resumed.ended
    const log = await readEvents(server, id)
    expect(framesOf(resumed.log.toString()).map(({ data }) => JSON.parse(data) as unknown)).toEqual(log.slice(events))
  })

  test('after=end of a finished run is answered with 204', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 1')
    await untilFinished(server, id)
    expect((await call(server, 'GET', `/runs/${id}/events?after=end`)).status).toBe(204)
  })

  test('in NDJSON the position is the first line, then come the last events and new ones', async () => {
    const server = await serveNative()
    const id = await paused(server)
    const { events } = await getRun(server, id)
    const bodies = ['tail=2', 'after=end'].map(async (query) => {
      const response = await fetch(`${server.url}/runs/${id}/events?${query}&format=ndjson`)
      return async () =>
        (await response.text())
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown)
    })
    const [tail, news] = await Promise.all(bodies)
    await answerRun(server, id, 'yes')
    const log = await readEvents(server, id)
    for (const [lines, from] of [
      [await tail!(), events - 2],
      [await news!(), events],
    ] as const) {
      expect(lines[0]).toMatchObject({ stream: 'progress', cursor: from - 1 })
      expect(lines.slice(1)).toEqual(log.slice(from))
    }
  })

  test('tail=N as a page has the last N events', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 8')
    const { events } = await untilFinished(server, id)
    const { body } = await call<EventPage>(server, 'GET', `/runs/${id}/events?tail=2&format=json`)
    expect(body.events.map(({ index }) => index)).toEqual([events - 2, events - 1])
    const all = await call<EventPage>(server, 'GET', `/runs/${id}/events?tail=1000&format=json`)
    expect(all.body.events).toHaveLength(events)
  })

  test('[SUB-2] tail=N of a log that was trimmed to fewer events begins with a gap', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 8')
    await untilFinished(server, id)
    await server.store.trim(id, 8)
    const { body } = await call<string>(server, 'GET', `/runs/${id}/events?tail=10`)
    expect(framesOf(body).map(({ event }) => event)[0]).toBe('stream.gap')
    const fewer = await call<string>(server, 'GET', `/runs/${id}/events?tail=2`)
    expect(framesOf(fewer.body).map(({ event }) => event)).toEqual(['stream.progress', 'text.delta', 'run.completed'])
  })

  test.each([
    ['tail=-1', 'tail'],
    ['tail=x', 'tail'],
    ['tail=1&after=2', 'after and tail cannot be combined'],
    ['snapshot=1&tail=1', 'tail and snapshot cannot be combined'],
    ['snapshot=yes', 'snapshot'],
  ])('[SUB-2] %s is rejected', async (query, detail) => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 1')
    const answer = await call(server, 'GET', `/runs/${id}/events?${query}`)
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining(detail) as string } })
  })
})
