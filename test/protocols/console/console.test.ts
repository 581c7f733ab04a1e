/** The console's server routes besides the native protocol. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { StoredRunPage } from '../../../src/core/ports/store.ts'
import { searchRuns } from '../../../src/protocols/console/search-runs.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { createFakeClock } from '../../../src/testing/fake-clock.ts'
import { newRun } from '../../../src/testing/fixtures.ts'
import { call, getRun, readLog, startRun, untilFinished } from '../../support/http.ts'
import { createKey } from '../../../src/server/auth/api-keys.ts'
import { createKeys } from '../../support/keys.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { serveNative } from '../native/serve.ts'

interface Rows {
  readonly version: string
  readonly runs: readonly {
    readonly id: string
    readonly status: string
    readonly events: number
    readonly tokens?: number
  }[]
  readonly cursor?: string
}

describe('console: its files', () => {
  test('are one page at every address of the console, and immutable assets', async () => {
    const server = await serveNative()
    const page = await call<string>(server, 'GET', '/console')
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.headers.get('cache-control')).toBe('no-cache')
    for (const path of [
      '/console/',
      '/console/runs',
      '/console/runs/run_1',
      '/console/start',
      '/console/break',
      '/console/server',
    ])
      expect((await call<string>(server, 'GET', path)).body).toBe(page.body)
    const assets = [...page.body.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, path]) => path!)
    expect(assets.length).toBeGreaterThanOrEqual(3)
    for (const path of assets) {
      const asset = await call<string>(server, 'GET', path)
      expect(asset.status).toBe(200)
      expect(asset.headers.get('cache-control')).toContain('immutable')
      expect(asset.headers.get('x-content-type-options')).toBe('nosniff')
    }
    const head = await call<string>(server, 'HEAD', assets[0]!)
    expect([head.status, head.body]).toEqual([200, ''])
  })

  test.each([
    '/console/assets/none.js',
    '/console/assets/..%2F..%2Findex.html',
    '/console/assets/%2Fetc%2Fpasswd',
    '/console/x/y/z',
  ])('do not include %s', async (path) => {
    const server = await serveNative()
    const { status, body } = await call(server, 'GET', path)
    expect([status, body['code']]).toEqual([404, 'not_found'])
  })
})

describe('console: the live list of runs', () => {
  test('responds at once to a client without a version, and otherwise when something has changed', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'usage 10 20; ask "Go on?"')
    const first = (await call<Rows>(server, 'GET', '/console/api/runs')).body
    expect(first.runs.map((run) => run.id)).toEqual([id])
    const waiting = call<Rows>(server, 'GET', `/console/api/runs?known=${first.version}`)
    await call(server, 'POST', `/runs/${id}/answers`, { body: { answer: 'yes' } })
    const second = (await waiting).body
    expect(second.version).not.toBe(first.version)
    await untilFinished(server, id)
    const [row] = (await call<Rows>(server, 'GET', '/console/api/runs')).body.runs
    expect(row).toMatchObject({ id, status: 'completed', tokens: 30, events: (await getRun(server, id)).events })
  })

  test('waits as long as a long poll may, then returns the same list', async () => {
    const server = await serveNative({ limits: { longPollTimeoutMs: 1200 } })
    const { version } = (await call<Rows>(server, 'GET', '/console/api/runs')).body
    expect((await call<Rows>(server, 'GET', `/console/api/runs?known=${version}`)).body).toEqual({ version, runs: [] })
  })

  test('has filters and pages', async () => {
    const server = await serveNative()
    for (const session of ['a', 'a', 'b'])
      await untilFinished(server, (await startRun(server, 'say x', { session })).id)
    const list = async (query: string) => (await call<Rows>(server, 'GET', `/console/api/runs?${query}`)).body
    expect((await list('session=a&status=completed,failed')).runs).toHaveLength(2)
    expect((await list('component=none')).runs).toEqual([])
    const { runs, cursor } = await list('limit=2')
    expect(runs).toHaveLength(2)
    expect((await list(`limit=2&cursor=${encodeURIComponent(cursor!)}`)).runs).toHaveLength(1)
    const { status, body } = await call(server, 'GET', '/console/api/runs?status=odd')
    expect([status, body['code']]).toEqual([400, 'invalid_request'])
  })
})

test('console: the list is searched by a part of the component, session or id, in any case, within its filters', async () => {
  const server = await serveNative()
  const ids: string[] = []
  for (const session of ['Harbour 1', 'harbour 2', 'other']) {
    const { id } = await startRun(server, 'say x', { session })
    await untilFinished(server, id)
    ids.push(id)
  }
  const found = async (query: string) =>
    (await call<Rows>(server, 'GET', `/console/api/runs?${query}`)).body.runs.map(({ id }) => id)
  expect(await found('search=HARBOUR')).toEqual([ids[1], ids[0]])
  expect(await found('search=harbour&status=failed')).toEqual([])
  expect(await found('search=harbour&session=harbour%202')).toEqual([ids[1]])
  expect(await found(`search=${ids[2]!.slice(-8)}`)).toEqual([ids[2]])
  expect(await found(`search=${ids[2]}`)).toEqual([ids[2]])
  expect(await found('search=lab')).toHaveLength(3)
  expect(await found('search=nowhere')).toEqual([])
})

test('console: a search reads a bounded part of the list, and its cursor continues there', async () => {
  const clock = createFakeClock()
  const store = createMemoryStore({ clock })
  for (let number = 0; number < 5400; number++) {
    const session = number === 100 ? 'needle' : 'hay'
    await store.create(newRun(`run_${number}`, clock.iso(), { session }))
    clock.advance(1)
  }
  const looks: number[] = []
  const search = (text: string, after?: string): Promise<StoredRunPage> =>
    searchRuns(
      ({ limit = 0, ...request }) => (looks.push(limit), store.list({ ...request, limit })),
      { limit: 50, ...(after !== undefined && { after }) },
      text,
    )
  const first = await search('needle')
  expect(first.runs).toEqual([])
  expect(looks).toHaveLength(25)
  const second = await search('needle', first.cursor)
  expect(second.runs.map(({ run }) => run.id)).toEqual(['run_100'])
  expect(second.cursor).toBeUndefined()
  const many = await search('hay')
  expect(many.runs).toHaveLength(200)
  expect((await search('hay', many.cursor)).runs[0]!.run.id).toBe('run_5199')
})

describe('console: the frames of a run', () => {
  test('[LOG-5] native frames are the bytes of the log', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 5; tool search')
    await untilFinished(server, id)
    const { body, headers } = await call<string>(server, 'GET', `/console/api/runs/${id}/frames?as=native`)
    expect(body).toBe(String(await readLog(server, id)))
    expect(headers.get('holdfast-whole')).toBe('true')
  })

  test.each([
    ['agentos', 'event: RunStarted', 'event: RunCompleted'],
    ['openai-chat', 'chat.completion.chunk', 'data: [DONE]'],
    ['a2a', 'id: 0', 'TASK_STATE_COMPLETED'],
    ['openai-responses', 'event: response.created', 'event: response.completed'],
  ])('frames as %s begin and end as that protocol does', async (view, first, last) => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 5')
    await untilFinished(server, id)
    const { body } = await call<string>(server, 'GET', `/console/api/runs/${id}/frames?as=${view}`)
    expect(body).toContain(first)
    expect(body).toContain(last)
  })

  test('frames beyond the size of a page are cut between frames, and the cut is reported', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'big 700; big 700')
    await untilFinished(server, id)
    const { body, headers } = await call<string>(server, 'GET', `/console/api/runs/${id}/frames?as=native`)
    expect(headers.get('holdfast-whole')).toBe('false')
    expect(body.endsWith('\n\n')).toBe(true)
  })

  test('frames of a protocol that is not served are rejected', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'say x')
    const { status, body } = await call(server, 'GET', `/console/api/runs/${id}/frames?as=telegraph`)
    expect([status, body['code']]).toEqual([400, 'invalid_request'])
  })
})

test('[SEC-1] console: its requests need a key if the server has one, and return only the caller’s data', async () => {
  const keys = join(temporaryFolder(), 'keys.json')
  const tokens = await createKeys(keys, ['ada', 'bob'])
  const server = await serveNative({ auth: { keys } })
  const [ada, bob] = tokens.map((token) => ({ url: server.url, token }))
  const { id } = await startRun(ada!, 'say x')
  for (const path of ['/console/api/runs', '/console/api/server', `/console/api/runs/${id}/frames?as=native`])
    expect((await call(server, 'GET', path)).status).toBe(401)
  expect((await call(server, 'GET', '/console')).status).toBe(200)
  expect((await call<Rows>(ada!, 'GET', '/console/api/runs')).body.runs).toHaveLength(1)
  expect((await call<Rows>(bob!, 'GET', '/console/api/runs')).body.runs).toEqual([])
  expect((await call(bob!, 'GET', `/console/api/runs/${id}/frames?as=native`)).status).toBe(404)
})

test('[SEC-1] console: facts about the whole server need the scope admin if the server has keys', async () => {
  const keys = join(temporaryFolder(), 'keys.json')
  const { key: admin } = await createKey(keys, { name: 'operator', scopes: ['admin'] })
  const { key: tenant } = await createKey(keys, { name: 'tenant' })
  const server = await serveNative({ auth: { keys } })
  const ask = (token: string): ReturnType<typeof call> => call({ url: server.url, token }, 'GET', '/console/api/server')
  expect(await ask(admin)).toMatchObject({ status: 200, body: { process: { pid: process.pid } } })
  expect((await ask(tenant)).status).toBe(403)
})

test('console: the server reports its health, load and limits', async () => {
  const server = await serveNative()
  const { body } = await call(server, 'GET', '/console/api/server')
  expect(body).toMatchObject({
    ok: true,
    auth: 'none',
    store: { name: 'memory', ok: true },
    load: { running: 0, subscribers: 0, lag: 0, recovered: 0, failed: 0 },
  })
  expect(body['limits']).toMatchObject({ retryDelayMs: 20 })
})
