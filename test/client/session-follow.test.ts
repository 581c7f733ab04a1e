/** A session followed across its runs: on every store, over restarts, and from any position. */
import { expect, onTestFinished, test } from 'vitest'
import { labComponents } from '../../src/agents/lab/kinds.ts'
import { type Client, createClient, type LoggedEvent, type SessionStream } from '../../src/client/index.ts'
import type { Limits } from '../../src/core/model/limits.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { serveInProcess } from '../support/in-process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { withSeed } from '../support/with-seed.ts'
import { collect, ends, expectWhole } from './session-checks.ts'

async function serve(store: Store, limits: Partial<Limits> = {}) {
  const server = await serveInProcess({
    store,
    components: labComponents(),
    limits: { pollIntervalMs: 50, retryDelayMs: 20, ...limits },
  })
  return { server, client: createClient({ url: server.url, retryDelayMs: 10, shareConnections: false }) }
}

const start = (client: Client, input: string, session = 's1') => client.runs.start({ component: 'lab', input, session })

function follow(client: Client, after?: string): SessionStream {
  const leave = new AbortController()
  onTestFinished(() => leave.abort())
  return client.sessions.follow('s1', { signal: leave.signal, ...(after !== undefined && { after }) })
}

test.each([
  ['memory', () => Promise.resolve(createMemoryStore())],
  ['SQLite', () => openSqliteStore({ path: temporaryDatabase() })],
])('sessions.follow: %s: past, present and future runs, each event once', async (_, open) => {
  const { client } = await serve(await open())
  const past = await start(client, 'text 3')
  await past.result()
  const paused = await start(client, 'text 2; ask Go on?; text 2')
  await start(client, 'text 5', 'another session')
  const events = collect(follow(client))
  await until('the past is there', () => ends(events) === 1 && events.some(({ type }) => type === 'run.paused'))
  const future = await Promise.all([start(client, 'text 20 every 1'), start(client, 'text 10; fail no')])
  await paused.answer({ answer: 'yes' })
  await until('all have ended', () => ends(events) === 4)
  await expectWhole(
    client,
    events,
    [past, paused, ...future].map(({ id }) => id),
  )
})

test.each([
  ['memory', () => Promise.resolve(createMemoryStore())],
  ['SQLite', () => openSqliteStore({ path: temporaryDatabase() })],
])('sessions.follow: %s: a new run is delivered without waiting for a poll', async (_, open) => {
  const hour = 3_600_000
  const { client } = await serve(await open(), { pollIntervalMs: hour, heartbeatIntervalMs: hour })
  const stream = follow(client)
  const events = collect(stream)
  await until('the stream has begun', () => stream.cursor !== undefined)
  const runs: string[] = []
  for (let count = 1; count <= 3; count++) {
    runs.push((await start(client, 'text 2')).id)
    await until('the new run is delivered', () => ends(events) === count)
  }
  await expectWhole(client, events, runs)
  expect(events.filter(({ type }) => type === 'run.created')).toHaveLength(3)
})

test('sessions.follow: after: end delivers only what is new, also of runs in progress', async () => {
  const { client } = await serve(createMemoryStore())
  await (await start(client, 'text 3')).result()
  const open = await start(client, 'text 2; ask Go on?; say new')
  await until('it waits', async () => (await open.get()).status === 'paused')
  const stream = follow(client, 'end')
  const events = collect(stream)
  await until('it has begun', () => stream.cursor !== 'end')
  await open.answer({ answer: 'yes' })
  const next = await start(client, 'say next')
  await until('both have ended', () => ends(events) === 2)
  expect(events[0]!.type).toBe('run.resumed')
  expect(events.filter(({ run }) => run === next.id)[0]!.type).toBe('run.created')
})

test('[SUB-2] sessions.follow: a cursor continues exactly, wherever the reader stopped', () =>
  withSeed(async (random, progress) => {
    const { client } = await serve(createMemoryStore())
    const runs: string[] = []
    const seen: LoggedEvent[] = []
    let after: string | undefined
    for (let round = 0; round < 12; round++) {
      Object.assign(progress, { round, after })
      for (let count = random.between(0, 3); count > 0; count--)
        runs.push((await start(client, random.pick(['text 30', 'text 3; tool look', 'text 5 every 1', 'fail no']))).id)
      const stream = follow(client, after)
      const stopAt = seen.length + random.between(1, 25)
      const total = () => Promise.all(runs.map(async (id) => (await client.runs.get(id)).events))
      const events = stream[Symbol.asyncIterator]()
      while (seen.length < stopAt && seen.length < (await total()).reduce((sum, count) => sum + count, 0))
        seen.push((await events.next()).value as LoggedEvent)
      after = stream.cursor
      void events.return(undefined)
    }
    const rest = follow(client, after)
    void (async () => {
      for await (const event of rest) seen.push(event)
    })().catch(() => {})
    await until('all have ended', () => ends(seen) === runs.length)
    await expectWhole(client, seen, runs)
  }))

test('[LOG-5] sessions.follow: a cursor of one server continues on the next one of the same store', async () => {
  const path = temporaryDatabase()
  const first = await serve(await openSqliteStore({ path }))
  const before = await start(first.client, 'text 5')
  await before.result()
  const stream = follow(first.client)
  const seen: LoggedEvent[] = []
  for await (const event of stream) {
    seen.push(event)
    if (seen.length === 4) break
  }
  await first.server.close()
  const second = await serve(await openSqliteStore({ path }))
  const later = await start(second.client, 'text 5')
  const rest = collect(follow(second.client, stream.cursor))
  await until('both have ended', () => ends(rest) === 2)
  await expectWhole(second.client, [...seen, ...rest], [before.id, later.id])
})

test('sessions.follow: the stream survives lost connections', async () => {
  const { client, server } = await serve(createMemoryStore())
  let connections = 0
  const flaky = createClient({
    url: server.url,
    retryDelayMs: 1,
    shareConnections: false,
    async fetch(input, init) {
      const response = await fetch(input, init)
      if (!new Request(input).url.includes('/native/sessions/') || ++connections > 6) return response
      let left = 300 * connections
      const cut = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          controller.enqueue(chunk.subarray(0, left))
          left -= chunk.length
          if (left <= 0) controller.error(new Error('cut'))
        },
      })
      return new Response(response.body!.pipeThrough(cut), response)
    },
  })
  const events = collect(follow(flaky))
  const runs = await Promise.all([start(client, 'text 20 every 1'), start(client, 'text 30')])
  await until('both have ended', () => ends(events) === 2)
  expect(connections).toBeGreaterThan(2)
  await expectWhole(
    client,
    events,
    runs.map(({ id }) => id),
  )
})

test('session events: pages are served, and invalid cursors are refused', async () => {
  const { client, server } = await serve(createMemoryStore())
  const run = await start(client, 'text 3')
  await run.result()
  const url = `${server.url}/native/sessions/s1/events`
  const page = async (query: string) =>
    (await fetch(`${url}?${query}`)).json() as Promise<{ events: LoggedEvent[]; cursor: string }>
  const first = await page('limit=2')
  expect(first.events.map(({ index }) => index)).toEqual([0, 1])
  const rest = await page(`after=${encodeURIComponent(first.cursor)}`)
  expect(rest.events[0]!.index).toBe(2)
  expect((await page(`after=${encodeURIComponent(rest.cursor)}&wait=20`)).events).toEqual([])
  for (const after of ['x y', '0,run:z', `0${',a:1'.repeat(201)}`]) {
    const response = await fetch(`${url}?after=${encodeURIComponent(after)}`)
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([400, 'cursor_invalid'])
  }
  expect((await (await fetch(`${server.url}/native/sessions/unknown/events`)).json()) as object).toMatchObject({
    events: [],
  })
})

test('[SEC-1] session events: a session shows the runs of the caller alone', async () => {
  const server = await serveInProcess({
    store: createMemoryStore(),
    components: labComponents(),
    authenticate: ({ headers }) => ({ id: headers.get('x-user') ?? 'nobody' }),
  })
  const as = (user: string): Client =>
    createClient({
      url: server.url,
      shareConnections: false,
      fetch: (input, init) => fetch(input, { ...init, headers: { ...(init?.headers as object), 'x-user': user } }),
    })
  await (await start(as('alice'), 'say secret')).result()
  const read = async (user: string) =>
    (await fetch(`${server.url}/native/sessions/s1/events`, { headers: { 'x-user': user } })).text()
  expect(await read('alice')).toContain('secret')
  expect(await read('bob')).toContain('"events":[]')
})
