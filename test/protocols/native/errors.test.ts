/** Errors before a stream starts are problem JSON; errors inside a run are events of the run. */
import { describe, expect, test } from 'vitest'
import { fromCheck } from '../../../src/core/schema/json-schema.ts'
import { agent } from '../../../src/agents/agent.ts'
import { systemIds } from '../../../src/core/ports/clock.ts'
import { type ErrorCode, errorTable, HoldfastError } from '../../../src/core/model/errors.ts'
import { type Logger, silentLogger } from '../../../src/core/ports/logger.ts'
import { problemShape } from '../../../src/protocols/native/wire/shapes.ts'
import { createKey } from '../../../src/server/auth/api-keys.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { overriding } from '../../../src/testing/broken-stores.ts'
import { type Answer, call, followRun, postRun, startRun, untilFinished, untilStatus } from '../../support/http.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { nextResponse, open, requestText } from './raw.ts'
import { type NativeServer, serveNative } from './serve.ts'

type Provoke = () => Promise<Answer>

/** One way to cause each error code. */
const provoked: Readonly<Record<string, Provoke>> = {
  async invalid_request() {
    return call(await serveNative(), 'POST', '/runs', { body: {} })
  },
  async cursor_invalid() {
    const server = await serveNative()
    const { id } = await startRun(server, '')
    return call(server, 'GET', `/runs/${id}/events?after=99`)
  },
  async unauthenticated() {
    return call(await serveWithKeys(), 'GET', '/components')
  },
  async forbidden() {
    return call(await serveNative(), 'POST', '/runs', { body: {}, headers: { origin: 'http://elsewhere.example' } })
  },
  async not_found() {
    return call(await serveNative(), 'GET', '/runs/run_0')
  },
  async method_not_allowed() {
    return call(await serveNative(), 'DELETE', '/runs')
  },
  async conflict() {
    const server = await serveNative()
    const { id } = await startRun(server, 'hang')
    return call(server, 'DELETE', `/runs/${id}`)
  },
  async session_busy() {
    const server = await serveNative()
    await startRun(server, '', { component: 'single', session: 's' })
    return postRun(server, '', { component: 'single', session: 's' })
  },
  async idempotency_conflict() {
    const server = await serveNative()
    await startRun(server, 'text 1', { key: 'k' })
    return postRun(server, 'text 2', { key: 'k' })
  },
  async cursor_expired() {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 3')
    await untilFinished(server, id)
    await server.store.trim(id, 3)
    return call(server, 'GET', `/runs/${id}/events?after=0`)
  },
  async log_changed() {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 3')
    await untilFinished(server, id)
    return call(server, 'GET', `/runs/${id}/events?after=1~00000000`)
  },
  async log_damaged() {
    const damaged = new HoldfastError('log_damaged', 'events 3 to 4 are damaged', { details: { first: 3, last: 4 } })
    const store = overriding(createMemoryStore(), { read: () => Promise.reject(damaged) })
    const server = await serveNative({ store })
    const { id } = await startRun(server, 'hang')
    return call(server, 'GET', `/runs/${id}/events?format=json`)
  },
  async quota_exceeded() {
    return postRun(await serveNative({ components: [refusing('quota_exceeded')] }), '', { component: 'refusing' })
  },
  async too_large() {
    return postRun(await serveNative({ limits: { maxBodyBytes: 100 } }), 'x'.repeat(100))
  },
  async unsupported() {
    return postRun(await serveNative({ components: [refusing('unsupported')] }), '', { component: 'refusing' })
  },
  async rate_limited() {
    const server = await serveNative({ limits: { maxSubscribersPerRun: 1, retryDelayMs: 2500 } })
    const { id } = await startRun(server, 'hang')
    await followRun(server, id).status()
    return call(server, 'GET', `/runs/${id}/events`)
  },
  async unavailable() {
    const server = await serveNative({ store: 'sqlite' })
    await server.store.close()
    return postRun(server, '')
  },
  async internal() {
    return postRun(await serveNative({ ids: brokenIds }), '')
  },
}

/** What only a run can end with, as `error` of the run and in its `run.failed`; and what never leaves the server. */
const neverAnswered: readonly ErrorCode[] = [
  'agent_failed',
  'unserializable',
  'output_too_large',
  'invalid_input',
  'invalid_output',
  'invalid_answer',
  'protocol_violation',
  'deadline_exceeded',
  'idle_timeout',
  'interrupted',
  'uncertain_tool',
  'diverged',
  'fenced',
  'closed',
]

const SECRET = 'the details of a defect'
const brokenIds = {
  ...systemIds(),
  run: (): string => {
    throw new Error(SECRET)
  },
}

test('native errors: every code of the table is either a response or the failure of a run', () => {
  expect([...Object.keys(provoked), ...neverAnswered].toSorted()).toEqual(Object.keys(errorTable).toSorted())
})

test.each(Object.entries(provoked))(
  'native errors: %s is a problem document with the status of the table',
  async (code, provoke) => {
    const { status, headers, body } = await provoke()
    const entry = errorTable[code as ErrorCode]
    expect(status).toBe(entry.status)
    expect(headers.get('content-type')).toBe('application/problem+json')
    expect(headers.get('cache-control')).toBe('no-store')
    const problem = problemShape.strict().parse(body)
    expect(problem).toMatchObject({
      type: `urn:holdfast:error:${code}`,
      status: entry.status,
      code,
      retryable: entry.retryable,
    })
    for (const text of [problem.title, problem.detail, problem.requestId]) expect(text).not.toBe('')
  },
)

test.each([
  ['rate_limited', '3'],
  ['unavailable', '1'],
])('native errors: %s has Retry-After', async (code, seconds) => {
  expect((await provoked[code]!()).headers.get('retry-after')).toBe(seconds)
})

test('native errors: unavailable during a drain has Retry-After', async () => {
  const server = await serveNative({ limits: { drainTimeoutMs: 500 } })
  const { id } = await startRun(server, 'sleep 300')
  await untilStatus(server, id, ['running'])
  const stopped = server.close()
  const answer = await postRun(server, '')
  expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } })
  expect(answer.headers.get('retry-after')).toBe('1')
  expect(await call(server, 'GET', '/health')).toMatchObject({
    status: 503,
    body: { status: 'unavailable', draining: true },
  })
  await stopped
})

test('native errors: rate_limited when the queue is full', async () => {
  const server = await serveNative({ limits: { maxConcurrentRuns: 1, maxQueuedRuns: 1 } })
  await untilStatus(server, (await startRun(server, 'hang')).id, ['running'])
  await startRun(server, 'hang')
  const answer = await postRun(server, 'hang')
  expect(answer).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
})

test('native errors: unauthenticated names the required scheme, but not which part of the credential is wrong', async () => {
  const server = await serveWithKeys()
  const missing = await call(server, 'GET', '/runs')
  expect(missing.headers.get('www-authenticate')).toBe('Bearer')
  const wrong = [
    'Bearer hf_nobody_0',
    `Bearer hf_${'a'.repeat(8)}_${'0'.repeat(64)}`,
    'Bearer x',
    'Basic dXNlcjpwYXNz',
    'Bearer',
    'Bearer a b',
  ]
  for (const authorization of wrong) {
    const answer = await call(server, 'GET', '/runs', { headers: { authorization } })
    expect(answer).toMatchObject({ status: 401, body: { code: 'unauthenticated' } })
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
  }
  expect((await call({ ...server, token: server.key }, 'GET', '/runs')).status).toBe(200)
})

test('native: health and the OpenAPI document are public, all other routes are not', async () => {
  const server = await serveWithKeys()
  for (const path of ['/health', '/openapi.json']) expect((await call(server, 'GET', path)).status).toBe(200)
  for (const [method, path] of [
    ['GET', '/components'],
    ['POST', '/runs'],
    ['GET', '/runs'],
    ['GET', '/runs/x'],
    ['DELETE', '/runs/x'],
    ['GET', '/runs/x/events'],
    ['POST', '/runs/x/stop'],
    ['POST', '/runs/x/answers'],
  ]) {
    expect((await call(server, method!, path!)).status, `${method} ${path}`).toBe(401)
  }
})

test('[SEC-1] native: another principal’s run does not exist, on every endpoint', async () => {
  const server = await serveWithKeys()
  const mine = { ...server, token: server.key }
  const theirs = { ...server, token: server.otherKey }
  const { id } = await startRun(mine, 'ask Go on?')
  await untilStatus(mine, id, ['paused'])
  const absent = await call(theirs, 'GET', '/runs/run_0')
  for (const [method, path, body] of [
    ['GET', '', undefined],
    ['DELETE', '', undefined],
    ['GET', '/events', undefined],
    ['GET', '/events?format=json&wait=10000', undefined],
    ['GET', '/events?format=ndjson&after=0', undefined],
    ['POST', '/stop', undefined],
    ['POST', '/stop?wait=10000', undefined],
    ['POST', '/answers', { answer: 1 }],
    ['POST', '/answers', { answers: { question: 1 } }],
  ] as const) {
    const answer = await call<{ detail: string }>(
      theirs,
      method,
      `/runs/${id}${path}`,
      body === undefined ? {} : { body },
    )
    expect(answer, `${method} ${path}`).toMatchObject({
      status: 404,
      body: { code: 'not_found', title: absent.body['title'] },
    })
    expect(answer.body.detail.replace(id, 'run_0')).toBe(absent.body['detail'])
  }
  expect((await call(theirs, 'GET', '/runs')).body).toEqual({ runs: [] })
  expect(await call(mine, 'GET', `/runs/${id}`)).toMatchObject({ body: { status: 'paused' } })
})

describe('native: an unknown path or method', () => {
  test.each([
    '/nowhere',
    '/runs/',
    '/runs/x/',
    '/runs/x/event',
    '/runs/x/events/1',
    '/Runs',
    '/runs/%E0%A4%A',
    '/runs//events',
  ])('%s gets 404', async (path) => {
    const server = await serveNative()
    expect(await call(server, 'GET', path)).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })

  test.each([
    ['DELETE', '/runs', ['GET', 'HEAD', 'POST']],
    ['PUT', '/runs/x', ['DELETE', 'GET', 'HEAD']],
    ['POST', '/runs/x/events', ['GET', 'HEAD']],
    ['GET', '/runs/x/stop', ['POST']],
    ['OPTIONS', '/runs/x/answers', ['POST']],
    ['PATCH', '/health', ['GET', 'HEAD']],
  ])('%s %s gets 405 with the allowed methods', async (method, path, allowed) => {
    const server = await serveNative()
    const { status, headers, body } = await call(server, method, path)
    expect(headers.get('allow')?.split(', ').toSorted()).toEqual(allowed)
    expect(headers.get('content-type')).toBe('application/problem+json')
    expect(body).toMatchObject({ status: 405, retryable: false })
    expect(status).toBe(405)
  })
})

describe('native errors: an internal error', () => {
  test('hides its details, which are in the server’s log under the same id', async () => {
    const lines: [Record<string, unknown>, string][] = []
    const logger = recorder(lines)
    const server = await serveNative({ ids: brokenIds, logger })
    const { status, body } = await postRun(server, '')
    expect(status).toBe(500)
    expect(JSON.stringify(body)).not.toContain(SECRET)
    const { requestId } = problemShape.parse(body)
    expect(lines).toHaveLength(1)
    expect(lines[0]![0]).toMatchObject({
      requestId,
      method: 'POST',
      path: '/runs',
      code: 'internal',
      err: { message: SECRET },
    })
  })

  test('an error while an error response is rendered ends that request and nothing else', async () => {
    const component = refusing('invalid_request', { count: 7n })
    const server = await serveNative({ components: [component] })
    const answer = await fetch(`${server.url}/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"component":"refusing","input":""}',
      signal: AbortSignal.timeout(20_000),
    })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect((await call(server, 'GET', '/health')).status).toBe(200)
  })

  test('a client error is not logged', async () => {
    const lines: [Record<string, unknown>, string][] = []
    const server = await serveNative({ logger: recorder(lines) })
    await call(server, 'GET', '/nowhere')
    await call(server, 'POST', '/runs', { body: {} })
    const answering = nextResponse()
    const socket = open(server.port)
    socket.write(
      requestText(
        `POST ${server.base}/runs`,
        { 'Content-Type': 'application/json', 'Content-Length': '100' },
        '{"component":',
      ),
    )
    const response = await answering
    const closed = new Promise((resolve) => response.once('close', resolve))
    socket.resetAndDestroy()
    await closed
    await call(server, 'GET', '/health') // what came of it has been logged before this is answered
    expect(lines).toEqual([])
  })
})

describe('native errors: a failure of a run', () => {
  test.each<[ErrorCode, string, object]>([
    ['agent_failed', 'throw boom', {}],
    ['agent_failed', 'throw-string', {}],
    ['agent_failed', 'fail on purpose', {}],
    ['unserializable', 'text 1; function', {}],
    ['output_too_large', 'big 30', { maxEventBytes: 10_000 }],
    ['protocol_violation', 'bogus', {}],
    ['deadline_exceeded', 'text 1000 every 5', { runTimeoutMs: 50 }],
    ['idle_timeout', 'hang', { runIdleTimeoutMs: 50 }],
  ])(
    '[RUN-3, EVT-1] is %s in the run and in its last event, which ends the stream: %j',
    async (code, script, limits) => {
      const server = await serveNative({ limits })
      const { id } = await startRun(server, script)
      const stream = followRun(server, id)
      expect(await stream.ended).toBe('closed')
      expect(stream.log.toString()).toMatch(
        new RegExp(`"type":"run\\.failed","data":\\{"error":\\{"code":"${code}".+\\n\\n$`),
      )
      expect(await call(server, 'GET', `/runs/${id}`)).toMatchObject({
        status: 200,
        body: { status: 'failed', error: { code } },
      })
    },
  )
})

async function serveWithKeys(): Promise<NativeServer & { readonly key: string; readonly otherKey: string }> {
  const keys = `${temporaryFolder()}/keys.json`
  const { key } = await createKey(keys, { name: 'mine' })
  const { key: otherKey } = await createKey(keys, { name: 'theirs' })
  return { ...(await serveNative({ auth: { keys } })), key, otherKey }
}

/** A component that rejects every input with its own error. */
function refusing(code: ErrorCode, details: Readonly<Record<string, unknown>> = {}) {
  const refuse = (): never => {
    throw new HoldfastError(code, 'not this input', { details })
  }
  return agent({ id: 'refusing', input: fromCheck(refuse, {}), async *run() {} })
}

function recorder(lines: [Record<string, unknown>, string][]): Logger {
  return {
    ...silentLogger,
    error: (fields, message) => lines.push([fields as Record<string, unknown>, message]),
  }
}
