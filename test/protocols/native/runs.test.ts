/** Starting runs over the native protocol. */
import { describe, expect, test } from 'vitest'
import type { RunShape } from '../../../src/protocols/native/wire/shapes.ts'
import { EventStream } from '../../support/event-stream.ts'
import { call, eventsIn, postRun, readLog, startRun, untilFinished } from '../../support/http.ts'
import { serveNative } from './serve.ts'
import type { Problem, RunPage } from './shapes.ts'

describe('POST /runs', () => {
  test('returns 202 with the run and its location', async () => {
    const server = await serveNative()
    const { status, headers, body } = await postRun(server, 'text 1', { session: 'tide' })
    expect(status).toBe(202)
    expect(headers.get('location')).toBe(`${server.base}/runs/${body.id}`)
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(headers.get('idempotency-replayed')).toBeNull()
    expect(body).toEqual({
      id: expect.stringMatching(/^run_[0-9a-z]{26}$/),
      component: 'lab',
      session: 'tide',
      status: 'queued',
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: body.createdAt,
      attempt: 0,
      events: 1,
      earliest: 0,
      protocol: 'native',
    })
    expect((await fetch(new URL(headers.get('location')!, server.url))).status).toBe(200)
  })

  test.each([
    '"a string"',
    '""',
    '7',
    '-1.5',
    'true',
    'false',
    'null',
    '[]',
    '[1,"two",null]',
    '{}',
    '{"deep":[{"er":"🌊\\u0000\\u2028"}]}',
  ])('passes the input %s to the component unchanged', async (json) => {
    const input: unknown = JSON.parse(json)
    const server = await serveNative()
    const { body } = await call<RunShape>(server, 'POST', '/runs', { body: { component: 'echo', input } })
    const run = await untilFinished(server, body.id)
    expect(run).toMatchObject({ status: 'completed', output: { input } })
  })

  test('passes session and metadata to the component, and stores them with the run', async () => {
    const server = await serveNative()
    const given = {
      component: 'echo',
      input: '',
      session: 'tide/äß',
      metadata: { user: 'Ada', tags: ['a', { b: null }] },
    }
    const { body } = await call<RunShape>(server, 'POST', '/runs', { body: given })
    const run = await untilFinished(server, body.id)
    expect(run).toMatchObject({ session: given.session, metadata: given.metadata })
    expect(run.output).toEqual({ input: '', session: given.session, metadata: given.metadata })
  })

  test('creates a new session each time if none is given', async () => {
    const server = await serveNative()
    const runs = [await startRun(server, ''), await startRun(server, '')]
    for (const { session } of runs) expect(session).toMatch(/^ses_/)
    expect(new Set(runs.map(({ session }) => session)).size).toBe(2)
  })

  test('[LOG-5] responds with the stream on request, with the same bytes as the log', async () => {
    const server = await serveNative()
    const body = { component: 'lab', input: 'text 3 every 5; tool search' }
    const stream = new EventStream(`${server.url}/runs`, { method: 'POST', body })
    expect(await stream.status()).toBe(200)
    const headers = await stream.headers()
    expect(headers['content-type']).toBe('text/event-stream; charset=utf-8')
    expect(await stream.ended).toBe('closed')
    const [, id] = /\/runs\/(.+)$/.exec(headers.location ?? '') ?? []
    expect(eventsIn(stream.log).at(-1)).toMatchObject({ run: id, type: 'run.completed' })
    expect((await readLog(server, id!)).equals(stream.log)).toBe(true)
  })

  test.each<[string, unknown]>([
    ['no body', undefined],
    ['no object', ['lab']],
    ['no component', { input: '' }],
    ['an empty component', { component: '', input: '' }],
    ['a component that is not a string', { component: 7, input: '' }],
    ['no input', { component: 'lab' }],
    ['a session that is not a string', { component: 'lab', input: '', session: 7 }],
    ['an empty session', { component: 'lab', input: '', session: '' }],
    ['a session of 257 characters', { component: 'lab', input: '', session: 's'.repeat(257) }],
    ['metadata that is not an object', { component: 'lab', input: '', metadata: ['a'] }],
    ['a field that is not known', { component: 'lab', input: '', sesion: 'typo' }],
    ['an input that the component does not take', { component: 'lab', input: 'txet 5' }],
  ])('rejects %s', async (_name, body) => {
    const server = await serveNative()
    const answer = await call<Problem>(server, 'POST', '/runs', body === undefined ? {} : { body })
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    expect(answer.body.detail).not.toBe('')
    expect((await call<RunPage>(server, 'GET', '/runs')).body.runs).toEqual([])
  })

  test('rejects an unknown component', async () => {
    const server = await serveNative()
    expect(await postRun(server, '', { component: 'nobody' })).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    })
  })
})

describe('Idempotency-Key', () => {
  test('[RUN-4] the same start again is the same run, and is marked as such', async () => {
    const server = await serveNative()
    const first = await postRun(server, 'text 1', { key: 'k-1' })
    await untilFinished(server, first.body.id)
    const again = await postRun(server, 'text 1', { key: 'k-1' })
    expect(first.headers.get('idempotency-replayed')).toBeNull()
    expect(again.status).toBe(202)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.headers.get('location')).toBe(`${server.base}/runs/${first.body.id}`)
    expect(again.body).toMatchObject({ id: first.body.id, status: 'completed' })
    expect((await call<RunPage>(server, 'GET', '/runs')).body.runs).toHaveLength(1)
  })

  test('[RUN-4] the order of keys in the body does not matter', async () => {
    const server = await serveNative()
    const headers = { 'idempotency-key': 'k-1' }
    const start = async (metadata: unknown) =>
      (
        await call<RunShape>(server, 'POST', '/runs', {
          body: { component: 'echo', input: { a: 1, b: [2] }, metadata },
          headers,
        })
      ).body.id
    expect(await start({ x: 1, y: { p: 1, q: 2 } })).toBe(await start({ y: { q: 2, p: 1 }, x: 1 }))
  })

  test.each<[string, object]>([
    ['component', { component: 'lab-retry' }],
    ['input', { input: 'text 2' }],
    ['session', { session: 'other' }],
    ['metadata', { metadata: { other: true } }],
  ])('[RUN-4] the same key with another %s is a conflict that names the run', async (_name, change) => {
    const server = await serveNative()
    const body = { component: 'lab', input: 'text 1' }
    const headers = { 'idempotency-key': 'k-1' }
    const first = await call<RunShape>(server, 'POST', '/runs', { body, headers })
    const other = await call<Problem>(server, 'POST', '/runs', { body: { ...body, ...change }, headers })
    expect(other).toMatchObject({
      status: 409,
      body: { code: 'idempotency_conflict', details: { run: first.body.id } },
    })
  })

  test('[RUN-4] a repeated start may ask for the stream, and gets it from the beginning', async () => {
    const server = await serveNative()
    const { body } = await postRun(server, 'text 2', { key: 'k-1' })
    const log = await readLog(server, body.id)
    const stream = new EventStream(`${server.url}/runs`, {
      method: 'POST',
      headers: { 'idempotency-key': 'k-1' },
      body: { component: 'lab', input: 'text 2' },
    })
    await stream.ended
    expect((await stream.headers())['idempotency-replayed']).toBe('true')
    expect(stream.log.equals(log)).toBe(true)
  })

  test.each(['', 'k'.repeat(257)])('an empty or overlong key is rejected', async (key) => {
    const server = await serveNative()
    expect(await postRun(server, '', { key })).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  })
})

test('GET /components lists the components and their properties', async () => {
  const server = await serveNative()
  const { body } = await call<{ components: readonly Record<string, unknown>[] }>(server, 'GET', '/components')
  const served = new Map(body.components.map((component) => [component['id'], component]))
  expect(served.size).toBe(body.components.length)
  expect(served.get('lab-retry')).toMatchObject({
    kind: 'agent',
    name: 'Lab',
    recovery: 'retry',
    onBusySession: 'parallel',
  })
  expect(served.get('echo')).toEqual({ id: 'echo', kind: 'agent', recovery: 'fail', onBusySession: 'parallel' })
  expect(served.get('single')).toMatchObject({ onBusySession: 'reject' })
})

test('GET /health reports the server’s state', async () => {
  const server = await serveNative()
  const { id } = await startRun(server, 'hang')
  const stream = new EventStream(`${server.url}/runs/${id}/events`)
  await stream.status()
  expect(await call(server, 'GET', '/health/ready')).toMatchObject({ status: 200, body: { store: { ok: true } } })
  expect(await call(server, 'GET', '/health')).toMatchObject({
    status: 200,
    body: { status: 'ok', store: { ok: true }, draining: false, running: 1, subscribers: 1 },
  })
  stream.cut()
})
