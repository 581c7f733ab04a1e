/** Filtered streams: some types, some actors, with the cursors of the log. */
import { describe, expect, test } from 'vitest'
import { type ParsedEvent, EventParser } from '../../../src/sse/index.ts'
import { EventStream } from '../../support/event-stream.ts'
import { answerRun, call, getRun, readEvents, startRun, untilFinished, untilStatus } from '../../support/http.ts'
import { until } from '../../support/until.ts'
import { type NativeServer, serveNative } from './serve.ts'
import type { EventPage } from './shapes.ts'

interface Seen {
  readonly index: number
  readonly type: string
  readonly actor?: { readonly run: string; readonly component: string }
}

const SCRIPT = 'text 3; tool search; text 2; tool again; ask Go on?; text 4; tool last; usage 1 2'

async function finished(server: NativeServer, component = 'lab'): Promise<string> {
  const { id } = await startRun(server, SCRIPT, { component })
  await untilStatus(server, id, ['paused'])
  await answerRun(server, id, 'yes')
  await untilFinished(server, id)
  return id
}

function framesOf(text: string): ParsedEvent[] {
  const frames: ParsedEvent[] = []
  new EventParser({ event: (frame) => frames.push(frame) }).push(text)
  return frames
}

async function read(server: NativeServer, id: string, query: string, headers = {}): Promise<ParsedEvent[]> {
  const { body } = await call<string>(server, 'GET', `/runs/${id}/events?${query}`, { headers })
  return framesOf(body)
}

function eventsOf(frames: readonly ParsedEvent[]): Seen[] {
  return frames.filter(({ event }) => !event.startsWith('stream.')).map(({ data }) => JSON.parse(data) as Seen)
}

const isKept = ({ type }: Seen): boolean =>
  /^run\.(completed|failed|cancelled|rejected)$|^attempt\.discarded$/.test(type)

describe('native: a filtered stream', () => {
  test.each([
    ['types=tool.called', ({ type }: Seen) => type === 'tool.called'],
    ['types=tool.*', ({ type }: Seen) => type.startsWith('tool.')],
    ['types=text.delta,run.paused', ({ type }: Seen) => type === 'text.delta' || type === 'run.paused'],
    ['types=text.delta&types=run.paused', ({ type }: Seen) => type === 'text.delta' || type === 'run.paused'],
    ['types=source.cited', () => false],
  ])('%s delivers exactly what it selects, and the terminal event', async (query, selects) => {
    const server = await serveNative()
    const id = await finished(server)
    const expected = ((await readEvents(server, id)) as Seen[]).filter((event) => selects(event) || isKept(event))
    const frames = await read(server, id, query)
    expect(eventsOf(frames)).toEqual(expected)
    expect(frames.map((frame) => frame.id)).toEqual(expected.map(({ index }) => String(index)))
    const { body } = await call<string>(server, 'GET', `/runs/${id}/events?${query}&format=ndjson`)
    expect(
      body
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Seen),
    ).toEqual(expected)
  })

  test('by actor delivers the events of a member by its run id or component, and of the run by its own', async () => {
    const server = await serveNative()
    const id = await finished(server, 'lab-team')
    const log = (await readEvents(server, id)) as Seen[]
    const member = log.find(({ actor }) => actor !== undefined)!.actor!
    for (const name of [member.run, member.component]) {
      const events = eventsOf(await read(server, id, `actors=${encodeURIComponent(name)}`))
      expect(events).toEqual(log.filter((event) => event.actor?.run === member.run || isKept(event)))
      expect(events.length).toBeGreaterThan(5)
    }
    for (const name of [id, 'lab-team'])
      expect(eventsOf(await read(server, id, `actors=${name}`))).toEqual(log.filter(({ actor }) => actor === undefined))
    const both = `actors=${encodeURIComponent(member.run)}&types=tool.called`
    expect(eventsOf(await read(server, id, both)).map(({ type }) => type)).toEqual([
      'tool.called',
      'tool.called',
      'tool.called',
      'run.completed',
    ])
  })

  test('[SUB-2] resumed after any event has the tail of the uncut stream', async () => {
    const server = await serveNative()
    const id = await finished(server)
    const uncut = eventsOf(await read(server, id, 'types=tool.*'))
    const { events } = await getRun(server, id)
    for (let after = -1; after < events - 1; after++)
      expect(
        eventsOf(await read(server, id, 'types=tool.*', { 'last-event-id': String(after) })),
        `after ${after}`,
      ).toEqual(uncut.filter(({ index }) => index > after))
  })

  test('[RUN-3] delivers the end of a run that was stopped, whatever it selects', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 3; hang')
    await until('three texts are there', async () => (await getRun(server, id)).events >= 5)
    const stream = new EventStream(`${server.url}/runs/${id}/events?types=tool.called&actors=nobody`)
    await call(server, 'POST', `/runs/${id}/stop`)
    await stream.ended
    expect(eventsOf(framesOf(stream.log.toString())).map(({ type }) => type)).toEqual(['run.cancelled'])
  })

  test('[SUB-3] says with an id how far a long stretch without a match was read', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 2500; tool search')
    await untilFinished(server, id)
    const frames = await read(server, id, 'types=tool.called')
    const progress = frames.filter(({ event }) => event === 'stream.progress')
    expect(progress.length).toBeGreaterThan(0)
    const last = progress.at(-1)!
    const { cursor } = JSON.parse(last.data) as { cursor: number }
    expect(cursor).toBeGreaterThan(1000)
    expect(last.id).toMatch(new RegExp(`^${cursor}~[0-9a-f]{8}$`))
    const resumed = await read(server, id, 'types=tool.called', { 'last-event-id': last.id! })
    expect(eventsOf(resumed)).toEqual(eventsOf(frames))
  })

  test('[SUB-3] sends its position instead of a heartbeat while nothing matches', async () => {
    const server = await serveNative({ limits: { heartbeatIntervalMs: 40 } })
    const { id } = await startRun(server, 'text 3; ask Go on?')
    const { events } = await untilStatus(server, id, ['paused'])
    const stream = new EventStream(`${server.url}/runs/${id}/events?types=tool.called`)
    await until('a position and then a plain heartbeat are here', () => stream.asides.at(-1) === ':\n\n')
    const [progress] = stream.asides.filter((aside) => aside.includes('stream.progress'))
    expect(progress).toMatch(new RegExp(`^id: ${events - 1}~`))
    stream.cut()
  })

  test('[SUB-3] of a draining server says its position before it is closed', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 3; ask Go on?')
    const { events } = await untilStatus(server, id, ['paused'])
    const stream = new EventStream(`${server.url}/runs/${id}/events?types=run.paused`)
    await until('the question is here', () => stream.events === 1)
    const other = new EventStream(`${server.url}/runs/${id}/events?types=tool.called`)
    await other.answered
    await until('both are subscribed', async () => (await getRun(server, id)).events === events)
    await server.close()
    await Promise.all([stream.ended, other.ended])
    const [progress, closing] = framesOf(Buffer.concat(other.frames).toString())
    expect([progress!.event, closing!.event]).toEqual(['stream.progress', 'stream.closing'])
    expect(progress!.id).toMatch(new RegExp(`^${events - 1}~`))
  })

  test('in pages has the cursor up to which the log was searched, and ends', async () => {
    const server = await serveNative()
    const id = await finished(server)
    const found: Seen[] = []
    let cursor = -1
    for (let done = false, pages = 0; !done; pages++) {
      expect(pages).toBeLessThan(50)
      const { body } = await call<EventPage>(
        server,
        'GET',
        `/runs/${id}/events?types=tool.called&format=json&limit=1&after=${cursor}`,
      )
      found.push(...(body.events as unknown as Seen[]))
      expect(body.cursor).toBeGreaterThan(cursor)
      ;({ cursor, done } = body)
    }
    expect(found).toEqual(eventsOf(await read(server, id, 'types=tool.called')))
  })

  test('by actor is the same in pages and in NDJSON', async () => {
    const server = await serveNative()
    const id = await finished(server, 'lab-team')
    const log = (await readEvents(server, id)) as Seen[]
    const { run } = log.find(({ actor }) => actor !== undefined)!.actor!
    const query = `actors=${encodeURIComponent(run)}`
    const expected = log.filter((event) => event.actor?.run === run || isKept(event))
    const page = await call<EventPage>(server, 'GET', `/runs/${id}/events?${query}&format=json&limit=1000`)
    expect(page.body).toMatchObject({ events: expected, cursor: log.length - 1, done: true })
    const { body } = await call<string>(server, 'GET', `/runs/${id}/events?${query}&format=ndjson`)
    const lines = body.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line) as Seen)).toEqual(expected)
  })

  test('in pages waits for a match, not for any event', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'ask Go on?; text 3; tool search')
    await untilStatus(server, id, ['paused'])
    const waiting = call<EventPage>(
      server,
      'GET',
      `/runs/${id}/events?types=tool.called&format=json&wait=10000&after=end`,
    )
    await answerRun(server, id, 'yes')
    const { body } = await waiting
    expect((body.events as unknown as Seen[]).map(({ type }) => type)[0]).toBe('tool.called')
  })

  test.each([
    ['types=', 'types has an empty name'],
    ['types=text.delta,', 'types has an empty name'],
    ['types=text', '"text" is not an event type'],
    ['types=nothing.*', '"nothing.*" is not an event type'],
    ['actors=', 'actors has an empty name'],
    [`actors=${Array.from({ length: 101 }, () => 'a').join(',')}`, 'actors has 101 names'],
  ])('%s is rejected in every format', async (query, detail) => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 1')
    for (const format of ['sse', 'ndjson', 'json']) {
      const answer = await call(server, 'GET', `/runs/${id}/events?format=${format}&${query}`)
      expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining(detail) as string } })
    }
  })
})
