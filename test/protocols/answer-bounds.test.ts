/** Responses that list several runs are bounded in bytes: the rest is on the next page, or the response says that it is truncated. */
import { beforeEach, expect, test } from 'vitest'
import { agent } from '../../src/agents/agent.ts'
import type { Server } from '../../src/server/create-server.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { overriding } from '../../src/testing/broken-stores/overriding.ts'
import { call } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { addLongSession } from '../support/long-session.ts'

const RUNS = 12
let server: Server
let ids: string[]
/** Runs whose logs were read. */
const read = new Set<string>()

/** Each run has 1,000 characters of output, so that one response holds a few of them. */
beforeEach(async () => {
  const store = createMemoryStore()
  const about = { component: 'chatter', eventsPerRun: 10, text: 'x'.repeat(100) }
  ids = await addLongSession(store, { ...about, session: 'talk', runs: RUNS })
  await addLongSession(store, { ...about, session: 'huge', runs: 1, eventsPerRun: 1000 })
  await addLongSession(store, { ...about, session: 'fine', runs: 1, eventsPerRun: 1000, text: 'x' })
  await addLongSession(store, { ...about, session: 'heavy', runs: 1, eventsPerRun: 2, text: 'x'.repeat(10_000) })
  server = await serveInProcess({
    store: overriding(store, {
      read: (id, ...rest) => {
        read.add(id)
        return store.read(id, ...rest)
      },
    }),
    components: [agent({ id: 'chatter', async *run() {} })],
    limits: { maxResponseBytes: 8000, maxUnstreamedLogBytes: 100_000 },
  })
})

test('native: runs are paged by bytes, without omissions or duplicates', async () => {
  const metadata = { note: 'x'.repeat(3000) }
  for (let count = 0; count < 5; count++)
    await call(server, 'POST', '/runs', { body: { component: 'chatter', input: '', session: 'noted', metadata } })
  const seen: string[] = []
  let pages = 1
  for (let cursor = ''; ; pages++) {
    const path = `/runs?session=noted${cursor && `&cursor=${encodeURIComponent(cursor)}`}`
    const { body } = await call<{ runs: { id: string }[]; cursor?: string }>(server, 'GET', path)
    seen.push(...body.runs.map(({ id }) => id))
    if (body.cursor === undefined) break
    cursor = body.cursor
  }
  expect(pages).toBe(3)
  expect(new Set(seen).size).toBe(5)
})

test('AgentOS: a session returns its newest runs and marks its history as truncated', async () => {
  const { body } = await call<{ history_truncated?: boolean; chat_history: { id: string }[] }>(
    server,
    'GET',
    '/sessions/talk',
  )
  expect(body.history_truncated).toBe(true)
  expect(body.chat_history.length).toBeGreaterThan(1)
  expect(body.chat_history.length).toBeLessThan(2 * RUNS)
  expect(body.chat_history.at(-1)!.id).toContain(ids.at(-1))
})

test('AgentOS: an incomplete list of runs is marked, and created_before leads to the rest', async () => {
  const { body, headers } = await call<{ run_id: string; created_at: string }[]>(server, 'GET', '/sessions/talk/runs')
  expect(headers.get('holdfast-whole')).toBe('false')
  expect(body.length).toBeGreaterThan(1)
  expect(body.map(({ run_id: id }) => id)).toEqual(ids.slice(-body.length))
  const before = Math.floor(Date.parse(body[0]!.created_at) / 1000)
  const rest = await call<{ run_id: string }[]>(server, 'GET', `/sessions/talk/runs?created_before=${before}`)
  expect(rest.body.at(-1)!.run_id).toBe(ids.at(-body.length - 1))
})

test('AgentOS: a session of more runs than a page is read to its first run by created_before', async () => {
  const store = createMemoryStore()
  const about = { component: 'chatter', eventsPerRun: 1, session: 'many', runs: 25 }
  const all = await addLongSession(store, about)
  const small = await serveInProcess({
    store,
    components: [agent({ id: 'chatter', async *run() {} })],
    limits: { maxPageRuns: 10 },
  })
  const seen: string[] = []
  let pages = 1
  for (let before = ''; ; pages++) {
    const { body, headers } = await call<{ run_id: string; created_at: string }[]>(
      small,
      'GET',
      `/sessions/many/runs?${before}`,
    )
    seen.unshift(...body.map(({ run_id: id }) => id))
    if (headers.get('holdfast-whole') === 'true') break
    before = `created_before=${(Date.parse(body[0]!.created_at) - 1) / 1000}`
  }
  expect(pages).toBe(3)
  expect(seen).toEqual(all)
  const { body } = await call<{ history_truncated?: boolean }>(small, 'GET', '/sessions/many')
  expect(body.history_truncated).toBe(true)
})

test.each([
  ['created_before=0', 0, 'true'],
  ['created_before=-1', 0, 'true'],
  ['created_before=999999999999', 8, 'false'],
  ['created_after=999999999999', 0, 'true'],
  ['status=COMPLETED', 8, 'false'],
  ['status=completed&status=ERROR', 8, 'false'],
  ['status=RUNNING', 0, 'true'],
  ['status=strange', 0, 'true'],
])('AgentOS: runs of a session with %s', async (query, most, whole) => {
  const { body, headers } = await call<unknown[]>(server, 'GET', `/sessions/talk/runs?${query}`)
  expect(body.length > 0).toBe(most > 0)
  expect(body.length).toBeLessThanOrEqual(most)
  expect(headers.get('holdfast-whole')).toBe(whole)
})

test('AgentOS: a page of sessions that is too large is rejected with what to do', async () => {
  const state = { note: 'x'.repeat(3000) }
  for (let count = 0; count < 4; count++) await call(server, 'POST', '/sessions', { body: { session_state: state } })
  const { status, body } = await call(server, 'GET', '/sessions')
  expect([status, body['detail']]).toEqual([413, expect.stringContaining('lower limit')])
  expect((await call(server, 'GET', '/sessions?limit=1')).status).toBe(200)
})

test('AgentOS: a run of another session is not found in a session', async () => {
  expect((await call(server, 'GET', '/sessions/talk/runs/run_huge0000')).status).toBe(404)
  expect((await call(server, 'GET', `/sessions/talk/runs/${ids[3]}`)).status).toBe(200)
})

test('OpenAI: the items of a conversation are paged by bytes, without omissions or duplicates', async () => {
  const seen: string[] = []
  let pages = 1
  for (let after = ''; ; pages++) {
    const path = `/v1/conversations/talk/items?limit=100&order=asc${after && `&after=${after}`}`
    const { body } = await call<{ data: { id: string }[]; has_more: boolean }>(server, 'GET', path)
    seen.push(...body.data.map(({ id }) => id))
    after = seen.at(-1)!
    if (!body.has_more) break
  }
  expect(pages).toBeGreaterThan(1)
  expect(seen).toEqual(ids.map((id) => id.slice(4)).flatMap((name) => [`in_${name}_0`, `msg_${name}_0`]))
})

test('OpenAI: no more runs are read than a page of items has room for', async () => {
  read.clear()
  await call(server, 'GET', '/v1/conversations/talk/items?limit=100')
  expect(read.size).toBeGreaterThan(1)
  expect(read.size).toBeLessThan(RUNS)
})

test.each(['/v1/conversations/talk/items/msg_talk0003_0', '/sessions/talk/runs/run_talk0003'])(
  'GET %s reads the log of that run only',
  async (path) => {
    read.clear()
    expect((await call(server, 'GET', path)).status).toBe(200)
    expect([...read]).toEqual(['run_talk0003'])
  },
)

test('OpenAI: an item of another conversation is not found in a conversation', async () => {
  expect((await call(server, 'GET', '/v1/conversations/huge/items/msg_talk0003_0')).status).toBe(404)
  const { status, body } = await call(server, 'GET', '/v1/conversations/talk/items/msg_talk0003_0')
  expect([status, body['id']]).toEqual([200, 'msg_talk0003_0'])
})

test('AI SDK UI: a chat returns its newest messages and says that there are earlier ones', async () => {
  read.clear()
  const { body } = await call<{ messages: { id: string }[]; hasMore: boolean }>(
    server,
    'GET',
    '/ai/chatter/chat/talk/messages',
  )
  expect(body.hasMore).toBe(true)
  expect(body.messages.length).toBeGreaterThan(1)
  expect(body.messages.at(-1)!.id).toBe(ids.at(-1)!.replace('run_', 'msg_'))
  expect(read.size).toBeLessThan(RUNS)
})

test('A2A: tasks with artifacts are paged by bytes, without omissions or duplicates', async () => {
  const seen: string[] = []
  let pages = 1
  for (let token = ''; ; pages++) {
    const path = `/a2a/chatter/tasks?includeArtifacts=true&contextId=talk&pageSize=100&pageToken=${token}`
    const { body } = await call<{ tasks: { id: string }[]; nextPageToken: string }>(server, 'GET', path, {
      headers: { 'a2a-version': '1.0' },
    })
    seen.push(...body.tasks.map(({ id }) => id))
    token = body.nextPageToken
    if (token === '') break
  }
  expect(pages).toBeGreaterThan(1)
  expect(seen.toSorted()).toEqual(ids)
})

test.each([
  ['/v1/responses/resp_huge0000', 413],
  ['/agents/chatter/runs/run_huge0000?session_id=huge', 413],
  ['/a2a/chatter/tasks/run_huge0000', 413],
  ['/v1/responses/resp_fine0000', 413],
  ['/agents/chatter/runs/run_fine0000?session_id=fine', 413],
  ['/a2a/chatter/tasks/run_fine0000', 413],
  ['/v1/responses/resp_heavy0000', 413],
  ['/v1/conversations/heavy/items', 413],
  ['/agents/chatter/runs/run_heavy0000?session_id=heavy', 413],
  ['/sessions/heavy/runs/run_heavy0000', 413],
  ['/a2a/chatter/tasks/run_heavy0000', 413],
  ['/ai/chatter/chat/huge/messages', 413],
  ['/ai/chatter/chat/heavy/messages', 413],
])('a log that is too long for one response is rejected in the form of the protocol: %s', async (path, expected) => {
  const response = await fetch(server.url + path, { headers: { 'a2a-version': '1.0' } })
  expect(response.status).toBe(expected)
  expect(await response.text()).toContain('stream its events instead')
})

test('response limit: a log that is too long for one response is still streamed whole', async () => {
  const response = await fetch(`${server.url}/runs/run_huge0000/events`)
  expect((await response.text()).match(/^id: /gm)).toHaveLength(1003)
})

test.each([
  '/agents/chatter/runs/run_heavy0000/resume',
  '/v1/responses/resp_heavy0000?stream=true&starting_after=1',
  '/ai/chatter/chat/run_heavy0000/stream',
])('a run whose content is too large for one response is streamed: %s', async (path) => {
  const method = path.endsWith('resume') ? 'POST' : 'GET'
  const response = await fetch(server.url + path, { method })
  expect(response.status).toBe(200)
  expect((await response.text()).length).toBeGreaterThan(20_000)
})
