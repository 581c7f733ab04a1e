/** `/resume`: every state of a run, and every position that a client can resume from. */
import { describe, expect, test } from 'vitest'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { temporaryDatabase } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'
import {
  type AgentOsServer,
  cutAfter,
  dataOf,
  framesIn,
  getJson,
  idsOf,
  indicesOf,
  namesOf,
  postForm,
  type Seen,
  serveAgentOs,
  stream,
  upTo,
} from './serve.ts'

const kinds = [
  { kind: 'agent', path: '/agents/lab-resume' },
  { kind: 'team', path: '/teams/lab-team' },
  { kind: 'workflow', path: '/workflows/lab-workflow' },
] as const

const texts = (frames: readonly Seen[]): string[] => frames.map(({ text }) => text)

function resume(
  server: AgentOsServer,
  path: string,
  run: string,
  fields: Record<string, string> = {},
): Promise<Seen[]> {
  return stream(server, `${path}/runs/${run}/resume`, fields)
}

describe('AgentOS /resume: a live run', () => {
  for (const { path, kind } of kinds) {
    test(`a live run of a ${kind} sends the missed events, a catch-up event, then new events`, async () => {
      const server = await serveAgentOs()
      const before = await cutAfter(server, `${path}/runs`, { message: 'text 3; ask Go on?; text 3; hang' }, 2)
      const { run, session } = idsOf(before)
      await until('it waits', async () => {
        return (await getJson(server, `${path}/runs/${run}?session_id=${session}`)).body.status === 'PAUSED'
      })
      await server.service.answer({ id: 'local' }, run, await answersFor(server, run, 'yes'))
      await until('it goes on', async () => {
        return String((await getJson(server, `${path}/runs/${run}?session_id=${session}`)).body.content).includes('[5]')
      })
      const resuming = resume(server, path, run, { last_event_index: '1', session_id: session })
      await until('it is followed', () => server.service.health().subscribers === 1)
      await postForm(server, `${path}/runs/${run}/cancel`, {})
      const frames = await resuming
      const names = namesOf(frames)
      const { missed_events: missed, current_event_count: count } = frames[0]!.data
      expect(frames[0]!.data).toEqual({
        event: 'catch_up',
        run_id: run,
        status: 'running',
        missed_events: expect.any(Number),
        current_event_count: expect.any(Number),
        message: `Catching up on ${String(missed)} missed events.`,
      })
      expect(missed).toBe(Number(count) - 2)
      const at = names.indexOf('subscribed')
      expect(at).toBe(Number(missed) + 1)
      expect(frames[at]!.data).toEqual({
        event: 'subscribed',
        run_id: run,
        status: 'running',
        current_event_count: count,
        message: `Subscribed to ${kind} run. Receiving live events.`,
      })
      expect(names.at(-1)).toMatch(/Cancelled$/)
      expect(indicesOf(frames)).toEqual(upTo(dataOf(frames).length, 2))
      expect(frames.filter((frame) => frame.id === undefined).map(({ event }) => event)).toEqual([
        'catch_up',
        'subscribed',
      ])
    })
  }

  test('a client that has everything only gets subscribed; an index beyond the end is clamped and reported', async () => {
    const server = await serveAgentOs()
    const { run } = idsOf(await cutAfter(server, '/agents/lab/runs', { message: 'text 2; ask x; text 2; hang' }, 3))
    await resumePaused(server, run)
    await server.service.answer({ id: 'local' }, run, await answersFor(server, run, 'yes'))
    await until('it hangs', async () => {
      return dataOf(await cutAfter(server, `/agents/lab/runs/${run}/resume`, {}, 10)).length >= 9
    })
    const [exact] = await cutAfter(server, `/agents/lab/runs/${run}/resume`, { last_event_index: '8' }, 1)
    expect(exact!.data).toMatchObject({ event: 'subscribed', status: 'running', current_event_count: 9 })
    const [clamped] = await cutAfter(server, `/agents/lab/runs/${run}/resume`, { last_event_index: '1000000' }, 1)
    expect(clamped!.data).toMatchObject({ event: 'subscribed', last_event_index_clamped_to: 8 })
    expect(clamped!.data['message']).toContain('Event 1000000 does not exist; the last one is 8.')
    // A client with a cursor beyond the end gets live events.
    const resuming = resume(server, '/agents/lab', run, { last_event_index: '1000000' })
    await until('it is followed', () => server.service.health().subscribers === 1)
    await postForm(server, `/agents/lab/runs/${run}/cancel`, {})
    expect(namesOf(await resuming)).toEqual(['subscribed', 'RunCancelled'])
  })

  test('a queued run is pending, and is followed from its first event', async () => {
    const server = await serveAgentOs({ limits: { maxConcurrentRuns: 1 } })
    const first = idsOf(await cutAfter(server, '/agents/lab/runs', { message: 'text 1; hang' }, 2))
    const queued = await postForm(server, '/agents/lab/runs', {
      message: 'text 2',
      stream: 'false',
      background: 'true',
    })
    const { run_id: run, status } = (await queued.json()) as { run_id: string; status: string }
    expect(status).toBe('PENDING')
    const resuming = resume(server, '/agents/lab', run)
    await until('it is followed', () => server.service.health().subscribers === 1)
    await postForm(server, `/agents/lab/runs/${first.run}/cancel`, {})
    const frames = await resuming
    expect(frames[0]!.data).toMatchObject({ event: 'subscribed', status: 'pending', current_event_count: 0 })
    expect(namesOf(dataOf(frames))).toEqual([
      'RunStarted',
      'RunContent',
      'RunContent',
      'RunContentCompleted',
      'RunCompleted',
    ])
  })
})

describe('AgentOS /resume: a finished run', () => {
  test('[LOG-5] is replayed from every index byte for byte as it was live', async () => {
    const server = await serveAgentOs()
    for (const [path, message] of [
      ['/agents/clerk', 'send'],
      ['/teams/newsroom', 'the sea'],
      ['/workflows/publish', 'kelp'],
      ['/agents/lab', 'text 2; throw boom'],
    ] as const) {
      const live = await stream(server, `${path}/runs`, { message })
      const { run } = idsOf(live)
      for (const place of upTo(live.length + 1, -1)) {
        const frames = await resume(server, path, run, { last_event_index: String(place) })
        expect(frames[0]!.data).toMatchObject({
          event: 'replay',
          run_id: run,
          status: expect.stringMatching(/^(COMPLETED|PAUSED|ERROR)$/),
          total_events: live.length - 1 - place,
          total_buffered: live.length,
          last_event_index_requested: place,
        })
        expect(texts(frames.slice(1))).toEqual(texts(live.slice(place + 1)))
      }
    }
  })

  test('has nothing more for a client that has everything, and reports it', async () => {
    const server = await serveAgentOs()
    const live = await stream(server, '/agents/lab/runs', { message: 'text 2' })
    const [meta, ...rest] = await resume(server, '/agents/lab', idsOf(live).run, {
      last_event_index: String(live.length - 1),
    })
    expect(rest).toEqual([])
    expect(meta!.data).toEqual({
      event: 'replay',
      run_id: idsOf(live).run,
      status: 'COMPLETED',
      total_events: 0,
      total_buffered: live.length,
      last_event_index_requested: live.length - 1,
      message: `Run COMPLETED. Replaying 0 missed events (of ${live.length} total).`,
    })
  })

  test('[SUB-2] a finished run whose events were trimmed is replayed with the gap reported', async () => {
    const server = await serveAgentOs()
    const live = await stream(server, '/agents/lab/runs', { message: 'text 5; complete done' })
    const { run } = idsOf(live)
    const { next } = (await server.store.get(run))!
    await server.store.trim(run, next - 1)
    const frames = await resume(server, '/agents/lab', run, { last_event_index: '2' })
    expect(frames[0]!.data).toMatchObject({
      event: 'replay',
      status: 'COMPLETED',
      gap: true,
      first_available_index: next - 1,
    })
    expect(frames[0]!.data['message']).toContain('trimmed')
    expect(namesOf(frames)).toEqual(['replay', 'RunContentCompleted', 'RunCompleted'])
    expect(frames.at(-1)!.data).toMatchObject({ content: 'done' })
  })
})

describe('AgentOS /resume: a paused run', () => {
  test('is replayed as paused, and after it was continued with one numbering over both parts', async () => {
    const server = await serveAgentOs()
    const before = await stream(server, '/agents/clerk/runs', { message: 'send' })
    const { run, session } = idsOf(before)
    const paused = await resume(server, '/agents/clerk', run, { session_id: session })
    expect(paused[0]!.data).toMatchObject({ event: 'replay', status: 'PAUSED' })
    expect(texts(paused.slice(1))).toEqual(texts(before))
    const continued = await stream(server, `/agents/clerk/runs/${run}/continue`, { tools: '[]', session_id: session })
    expect(indicesOf([...before, ...continued])).toEqual(upTo(before.length + continued.length))
    const whole = await resume(server, '/agents/clerk', run)
    expect(whole[0]!.data).toMatchObject({ event: 'replay', status: 'COMPLETED' })
    expect(texts(whole.slice(1))).toEqual(texts([...before, ...continued]))
  })
})

describe('AgentOS /resume: another process', () => {
  test('[LOG-5] replays a finished run byte for byte after a restart', async () => {
    const path = temporaryDatabase()
    const first = await serveAgentOs({ store: await openSqliteStore({ path }) })
    const live = await stream(first, '/teams/newsroom/runs', { message: 'the sea' })
    await first.close()
    const second = await serveAgentOs({ store: await openSqliteStore({ path }) })
    const frames = await resume(second, '/teams/newsroom', idsOf(live).run)
    expect(frames[0]!.data).toMatchObject({ event: 'replay', status: 'COMPLETED', total_events: live.length })
    expect(texts(frames.slice(1))).toEqual(texts(live))
  })

  test('[RUN-1] continues a run that was live when the server ended, and its numbering', async () => {
    const path = temporaryDatabase()
    const first = await serveAgentOs({ store: await openSqliteStore({ path }) })
    const open = postForm(first, '/agents/lab-resume/runs', { message: 'text 40 every 10' })
    const { run } = idsOf(await cutAfter(first, '/agents/lab-resume/runs', { message: 'text 40 every 10' }, 5))
    const expired = open.then((response) => response.text()).then(framesIn)
    await first.close()
    expect((await expired).at(-1)!.data).toMatchObject({
      event: 'stream_expired',
      message: expect.stringContaining('Resume'),
    })
    const second = await serveAgentOs({ store: await openSqliteStore({ path }) })
    const frames = await resume(second, '/agents/lab-resume', run, { last_event_index: '4' })
    expect(['catch_up', 'subscribed']).toContain(namesOf(frames)[0])
    expect(indicesOf(frames)).toEqual(upTo(dataOf(frames).length, 5))
    expect(frames.at(-1)!.data).toMatchObject({
      event: 'RunCompleted',
      content: expect.stringMatching(/^\[0\] .*\[39\] \w+ $/),
    })
  })

  test('follows and cancels a run of another server on the same store', async () => {
    const store = createMemoryStore()
    const first = await serveAgentOs({ store, limits: { pollIntervalMs: 20 } })
    const second = await serveAgentOs({ store, limits: { pollIntervalMs: 20 } })
    const { run } = idsOf(await cutAfter(first, '/teams/lab-team/runs', { message: 'text 3; hang' }, 5))
    const following = resume(second, '/teams/lab-team', run)
    await until('it is followed', () => second.service.health().subscribers === 1)
    await postForm(second, `/teams/lab-team/runs/${run}/cancel`, {})
    const frames = await following
    expect(namesOf(frames)[0]).toBe('catch_up')
    expect(namesOf(frames).at(-1)).toBe('TeamRunCancelled')
  })
})

describe('AgentOS /resume: rejects', () => {
  test('[SEC-1] a run of another component or session, or an unknown run, by status and by frame', async () => {
    const server = await serveAgentOs()
    const { run, session } = idsOf(await stream(server, '/agents/lab/runs', { message: 'text 1' }))
    for (const [path, fields] of [
      [`/agents/lab-retry/runs/${run}/resume`, {}],
      [`/agents/lab/runs/${run}/resume`, { session_id: `${session}x` }],
      ['/agents/lab/runs/nothing/resume', {}],
    ] as const) {
      const response = await postForm(server, path, fields)
      expect(response.status).toBe(404)
      const frames = framesIn(await response.text())
      const id = path.split('/')[4]
      expect(frames.map(({ data }) => data)).toEqual([
        { event: 'error', error: `Run ${id} not found in buffer or database` },
      ])
    }
    expect((await postForm(server, `/agents/nobody/runs/${run}/resume`, {})).status).toBe(404)
    expect((await postForm(server, `/teams/lab/runs/${run}/resume`, {})).status).toBe(404)
  })

  test('an index that is not a number', async () => {
    const server = await serveAgentOs()
    const { run } = idsOf(await stream(server, '/agents/lab/runs', { message: 'text 1' }))
    const response = await postForm(server, `/agents/lab/runs/${run}/resume`, { last_event_index: 'five' })
    expect(response.status).toBe(422)
    expect(await response.json()).toMatchObject({
      detail: [{ loc: ['body', 'last_event_index'], type: 'int_parsing' }],
    })
  })
})

describe('AgentOS /resume by GET, for an EventSource:', () => {
  test('Last-Event-ID is the cursor, and a client that has everything gets 204', async () => {
    const server = await serveAgentOs()
    const live = await stream(server, '/workflows/publish/runs', { message: 'kelp' })
    const { run } = idsOf(live)
    const address = `${server.url}/workflows/publish/runs/${run}/resume`
    const byHeader = framesIn(await (await fetch(address, { headers: { 'last-event-id': '3' } })).text())
    expect(texts(dataOf(byHeader))).toEqual(texts(live.slice(4)))
    const byQuery = framesIn(await (await fetch(`${address}?last_event_index=3`)).text())
    expect(texts(dataOf(byQuery))).toEqual(texts(live.slice(4)))
    expect((await fetch(address, { headers: { 'last-event-id': String(live.length - 1) } })).status).toBe(204)
    expect((await fetch(address, { headers: { 'last-event-id': 'abc' } })).status).toBe(422)
  })
})

test('[SUB-1] AgentOS: a second and a third subscriber get the same as the first', async () => {
  const server = await serveAgentOs()
  const { run } = idsOf(await cutAfter(server, '/agents/lab/runs', { message: 'text 20 every 5' }, 2))
  const all = await Promise.all([1, 2, 3].map(() => resume(server, '/agents/lab', run)))
  for (const frames of all) expect(texts(dataOf(frames))).toEqual(texts(dataOf(all[0]!)))
  expect(indicesOf(all[0]!)).toEqual(upTo(dataOf(all[0]!).length))
})

async function answersFor(server: AgentOsServer, run: string, answer: unknown): Promise<Record<string, unknown>> {
  const { waiting = [] } = (await server.service.get({ id: 'local' }, run)).run
  return Object.fromEntries(waiting.map(({ id }) => [id, answer]))
}

/** Resolves when the run waits. */
async function resumePaused(server: AgentOsServer, run: string): Promise<Seen[]> {
  await until('it waits', async () => (await server.service.get({ id: 'local' }, run)).run.status === 'paused')
  return resume(server, '/agents/lab', run)
}
