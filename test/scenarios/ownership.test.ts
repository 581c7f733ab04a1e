import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { labAgent } from '../../src/agents/lab/agent.ts'
import { labComponents } from '../../src/agents/lab/kinds.ts'
import { systemClock } from '../../src/core/ports/clock.ts'
import { defaultLimits } from '../../src/core/model/limits.ts'
import { Streams } from '../../src/http/response/stream.ts'
import { nativeProtocol } from '../../src/protocols/native/index.ts'
import type { RunShape } from '../../src/protocols/native/wire/shapes.ts'
import type { Server } from '../../src/server/create-server.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import {
  call,
  type CallOptions,
  getRun,
  postRun,
  readLog,
  startRun,
  type Target,
  untilFinished,
  untilStatus,
} from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { createKeys } from '../support/keys.ts'
import { temporaryFolder } from '../support/temporary.ts'

/** One way to call a route. */
interface Probe extends CallOptions {
  readonly query?: string
}

/** How everyone's routes treat strangers. A route that is missing here fails the first test. */
const routes: Readonly<
  Record<
    string,
    | { readonly for: 'one run' | 'one session'; readonly probes: readonly Probe[] }
    | { readonly for: 'everyone' | 'each their own' | 'administrators' }
  >
> = {
  'GET /components': { for: 'everyone' },
  'GET /health': { for: 'everyone' },
  'GET /health/ready': { for: 'everyone' },
  'GET /openapi.json': { for: 'everyone' },
  // The route walk checks that nobody else may call them.
  'GET /admin/metrics': { for: 'administrators' },
  'GET /metrics': { for: 'administrators' },
  'POST /admin/forget': { for: 'administrators' },
  'POST /runs': { for: 'each their own' },
  'GET /runs': { for: 'each their own' },
  'GET /native/sessions': { for: 'each their own' },
  'GET /native/sessions/{id}': { for: 'one session', probes: [{}] },
  'PATCH /native/sessions/{id}': {
    for: 'one session',
    probes: [{ body: { name: 'mine' } }, { body: { name: '' } }, { body: { nonsense: true } }, {}],
  },
  'DELETE /native/sessions/{id}': { for: 'one session', probes: [{}] },
  // It also follows a session that does not exist yet. `test/client/session-follow.test.ts` checks that it is the caller's own.
  'GET /native/sessions/{id}/events': { for: 'each their own' },
  'GET /runs/{id}': { for: 'one run', probes: [{}] },
  'DELETE /runs/{id}': { for: 'one run', probes: [{}] },
  'GET /runs/{id}/events': {
    for: 'one run',
    probes: ['sse', 'json', 'ndjson'].flatMap((format) => [
      { query: `format=${format}` },
      { query: `format=${format}&after=0` },
      { query: `format=${format}&after=100000` },
      { query: `format=${format}&after=nonsense` },
      { query: `format=${format}`, headers: { 'last-event-id': '1' } },
      { query: `format=${format}&wait=50` },
    ]),
  },
  'POST /runs/{id}/stop': {
    for: 'one run',
    probes: [
      {},
      { body: { reason: 'mine' } },
      { query: 'wait=50' },
      { body: { nonsense: true } },
      { query: 'wait=nonsense' },
    ],
  },
  'POST /runs/{id}/answers': {
    for: 'one run',
    probes: [{ body: { answer: 'yes' } }, { body: { answers: { question: 'yes' } } }, { body: { nonsense: true } }, {}],
  },
  'GET /runs/{id}/links': { for: 'one run', probes: [{}] },
  'GET /runs/{id}/shares': { for: 'one run', probes: [{}] },
  'POST /runs/{id}/shares': {
    for: 'one run',
    probes: [{ body: { can: ['read', 'stop'] } }, { body: { can: ['nonsense'] } }, {}],
  },
  'DELETE /runs/{id}/shares/{share}': { for: 'one run', probes: [{}] },
}

const ABSENT = 'run_01aaaaaaaaaaaaaaaaaaaaaaaa'

let server: Server
let alice: Target
let bob: Target

beforeEach(async () => {
  const keys = join(temporaryFolder(), 'keys.json')
  const [first, second] = await createKeys(keys, ['alice', 'bob'])
  const components = [
    ...labComponents(),
    { ...labAgent({ id: 'lab-one-at-a-time' }), onBusySession: 'reject' as const },
  ]
  server = await serveInProcess({ components, auth: { keys }, store: createMemoryStore() })
  alice = { url: server.url, token: first! }
  bob = { url: server.url, token: second! }
})

test('[SEC-1] ownership tests cover every route of the native protocol', () => {
  const streams = new Streams(defaultLimits, systemClock)
  onTestFinished(() => streams.closeAll('the test is over'))
  const served = nativeProtocol(server.service, streams, '0.0.0').routes.map(({ method, path }) => `${method} ${path}`)
  expect(served.toSorted()).toEqual(Object.keys(routes).toSorted())
})

describe.each(
  Object.entries(routes).flatMap(([name, route]) => (route.for === 'one run' ? [{ name, probes: route.probes }] : [])),
)('[SEC-1] $name', ({ name, probes }) => {
  const [method, path] = name.split(' ') as [string, string]

  test.each(['running', 'paused', 'completed'])(
    'another principal’s run that is %s gets the response of a missing run',
    async (status) => {
      const { id } = await startRun(alice, { running: 'hang', paused: 'ask Go on?', completed: 'text 2' }[status]!)
      await untilStatus(alice, id, [status])
      const before = await getRun(alice, id)
      for (const probe of probes) {
        const foreign = await ask(bob, method, path, id, probe)
        const absent = await ask(bob, method, path, ABSENT, probe)
        // Errors of the request itself may come first, if they are the same for any run.
        expect(foreign, JSON.stringify(probe)).toEqual(absent)
        expect([404, 400]).toContain(foreign.status)
      }
      expect((await ask(bob, method, path, id, probes[0]!)).status).toBe(404)
      expect(await getRun(alice, id)).toEqual(before)
    },
  )

  test('requires a credential, whatever the run', async () => {
    const { id } = await startRun(alice, 'text 2')
    for (const probe of probes) expect((await ask({ url: server.url }, method, path, id, probe)).status).toBe(401)
  })
})

describe.each(
  Object.entries(routes).flatMap(([name, route]) =>
    route.for === 'one session' ? [{ name, probes: route.probes }] : [],
  ),
)('[SEC-1] $name', ({ name, probes }) => {
  const [method, path] = name.split(' ') as [string, string]

  test('another principal’s session gets the response of a missing session', async () => {
    await untilFinished(alice, (await startRun(alice, 'text 2', { session: 'hers' })).id)
    const before = await call(alice, 'GET', '/native/sessions/hers')
    expect(before.status).toBe(200)
    for (const probe of probes) {
      const foreign = await ask(bob, method, path, 'hers', probe)
      expect(foreign, JSON.stringify(probe)).toEqual(await ask(bob, method, path, 'nobodys', probe))
      expect([404, 400]).toContain(foreign.status)
      expect((await ask({ url: server.url }, method, path, 'hers', probe)).status).toBe(401)
    }
    expect((await ask(bob, method, path, 'hers', probes[0]!)).status).toBe(404)
    expect((await call(alice, 'GET', '/native/sessions/hers')).body).toEqual(before.body)
  })
})

describe('[SEC-1] GET /native/sessions', () => {
  test('lists each principal’s own sessions, also if two have the same name', async () => {
    for (const target of [alice, bob]) {
      const { id } = await startRun(target, 'text 1', { session: 'shared' })
      await untilFinished(target, id)
    }
    await call(alice, 'PATCH', '/native/sessions/shared', { body: { name: 'of alice' } })
    for (const [target, name] of [
      [alice, 'of alice'],
      [bob, 'shared'],
    ] as const) {
      const { body } = await call(target, 'GET', '/native/sessions')
      expect(body).toMatchObject({ sessions: [{ id: 'shared', name }], total: 1 })
    }
    expect((await call(bob, 'GET', '/native/sessions?name=alice')).body).toEqual({ sessions: [], total: 0 })
    expect((await call(bob, 'DELETE', '/native/sessions/shared')).status).toBe(204)
    expect((await call(alice, 'GET', '/native/sessions/shared')).status).toBe(200)
  })
})

describe('[SEC-1] GET /runs', () => {
  test('lists each principal’s own runs, with any filter and on every page', async () => {
    for (let number = 0; number < 5; number++) {
      for (const target of [alice, bob]) await startRun(target, 'text 1', { session: 'shared' })
    }
    const mine = await startRun(bob, 'ask Go on?', { component: 'lab-resume' })
    await untilStatus(bob, mine.id, ['paused'])
    for (const filter of ['', 'session=shared', 'component=lab', 'status=completed,running,queued,paused']) {
      const [seenByAlice, seenByBob] = [await listAll(alice, filter), await listAll(bob, filter)]
      expect(seenByAlice).toHaveLength(5)
      expect(seenByBob.length).toBeGreaterThanOrEqual(5)
      expect(seenByAlice.filter((id) => seenByBob.includes(id))).toEqual([])
    }
    expect(await listAll(alice, 'component=lab-resume')).toEqual([])
    const { body } = await call<{ cursor: string }>(bob, 'GET', '/runs?limit=1')
    expect((await listAll(alice, '', body.cursor)).filter((id) => id === mine.id)).toEqual([])
  })
})

describe('[SEC-1] POST /runs', () => {
  test('a start in a session of the same name is not blocked by another principal’s run', async () => {
    const session = { component: 'lab-one-at-a-time', session: 'shared' }
    await startRun(alice, 'hang', session)
    expect(await postRun(alice, 'text 1', session)).toMatchObject({ status: 409, body: { code: 'session_busy' } })
    const { id } = await startRun(bob, 'text 1', session)
    expect(await untilFinished(bob, id)).toMatchObject({ status: 'completed' })
  })

  test('starts a run that its owner can read', async () => {
    const { id } = await startRun(alice, 'text 1')
    expect((await readLog(alice, id)).length).toBeGreaterThan(0)
  })
})

/** A response without the parts that differ between requests. */
async function ask(
  target: Target,
  method: string,
  path: string,
  id: string,
  { query, ...options }: Probe,
): Promise<{ status: number; body: string }> {
  const { status, body } = await call(
    target,
    method,
    path.replace('{id}', id) + (query === undefined ? '' : `?${query}`),
    options,
  )
  const { requestId: _requestId, ...reported } = body
  return { status, body: JSON.stringify(reported).replaceAll(id, 'ID') }
}

async function listAll(target: Target, filter: string, from?: string): Promise<string[]> {
  const ids: string[] = []
  for (let cursor = from; ;) {
    const path = `/runs?limit=2&${filter}${cursor === undefined ? '' : `&cursor=${cursor}`}`
    const { body } = await call<{ runs: RunShape[]; cursor?: string }>(target, 'GET', path)
    ids.push(...body.runs.map(({ id }) => id))
    if (body.cursor === undefined) return ids
    cursor = body.cursor
  }
}
