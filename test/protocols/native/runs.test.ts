/** Starting, finding, stopping, answering and removing runs over the native protocol. */
import { describe, expect, test } from 'vitest'
import type { RunShape } from '../../../src/protocols/native/wire.ts'
import { call, eventsIn, getRun, postRun, readEvents, readLog, startRun, untilFinished, untilStatus } from '../../support/http.ts'
import { EventStream } from '../../support/event-stream.ts'
import { type NativeServer, serveNative } from './serve.ts'

interface Problem {
  readonly code: string
  readonly detail: string
  readonly details?: Readonly<Record<string, unknown>>
}

interface RunPage {
  readonly runs: readonly RunShape[]
  readonly cursor?: string
}

describe('POST /runs', () => {
  test('answers 202 with the run and the path of it', async () => {
    const server = await serveNative()
    const { status, headers, body } = await postRun(server, 'text 1', { session: 'tide' })
    expect(status).toBe(202)
    expect(headers.get('location')).toBe(`/runs/${body.id}`)
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
    expect((await call(server, 'GET', headers.get('location')!)).status).toBe(200)
  })

  test.for(['a string', '', 7, -1.5, true, false, null, [], [1, 'two', null], {}, { deep: [{ er: '🌊\u0000\u2028' }] }])(
    'gives the input %j to the component as it is',
    async (input) => {
      const server = await serveNative()
      const { body } = await call<RunShape>(server, 'POST', '/runs', { body: { component: 'echo', input } })
      const run = await untilFinished(server, body.id)
      expect(run).toMatchObject({ status: 'completed', output: { input } })
    },
  )

  test('gives session and metadata to the component, and keeps them with the run', async () => {
    const server = await serveNative()
    const given = { component: 'echo', input: '', session: 'tide/äß', metadata: { user: 'Ada', tags: ['a', { b: null }] } }
    const { body } = await call<RunShape>(server, 'POST', '/runs', { body: given })
    const run = await untilFinished(server, body.id)
    expect(run).toMatchObject({ session: given.session, metadata: given.metadata })
    expect(run.output).toEqual({ input: '', session: given.session, metadata: given.metadata })
  })

  test('makes a session where none is given, another one each time', async () => {
    const server = await serveNative()
    const runs = [await startRun(server, ''), await startRun(server, '')]
    for (const { session } of runs) expect(session).toMatch(/^ses_/)
    expect(new Set(runs.map(({ session }) => session)).size).toBe(2)
  })

  test('[LOG-5] is the stream itself where that is asked for, the same bytes as the log later gives', async () => {
    const server = await serveNative()
    const body = { component: 'lab', input: 'text 3 every 5; tool search' }
    const stream = new EventStream(`${server.url}/runs`, { method: 'POST', body })
    expect(await stream.status()).toBe(200)
    const headers = await stream.headers()
    expect(headers['content-type']).toBe('text/event-stream; charset=utf-8')
    expect(await stream.ended).toBe('closed')
    const [, id] = /^\/runs\/(.+)$/.exec(headers.location ?? '') ?? []
    expect(eventsIn(stream.log).at(-1)).toMatchObject({ run: id, type: 'run.completed' })
    expect((await readLog(server, id!)).equals(stream.log)).toBe(true)
  })

  test.each<[string, unknown]>([
    ['no body', undefined],
    ['no object', ['lab']],
    ['no component', { input: '' }],
    ['an empty component', { component: '', input: '' }],
    ['a component that is no string', { component: 7, input: '' }],
    ['no input', { component: 'lab' }],
    ['a session that is no string', { component: 'lab', input: '', session: 7 }],
    ['an empty session', { component: 'lab', input: '', session: '' }],
    ['a session of 257 characters', { component: 'lab', input: '', session: 's'.repeat(257) }],
    ['metadata that is no object', { component: 'lab', input: '', metadata: ['a'] }],
    ['a field that is not known', { component: 'lab', input: '', sesion: 'typo' }],
    ['an input that the component does not take', { component: 'lab', input: 'txet 5' }],
  ])('refuses %s', async (_name, body) => {
    const server = await serveNative()
    const answer = await call<Problem>(server, 'POST', '/runs', body === undefined ? {} : { body })
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    expect(answer.body.detail).not.toBe('')
    expect((await call<RunPage>(server, 'GET', '/runs')).body.runs).toEqual([])
  })

  test('refuses a component that is not served', async () => {
    const server = await serveNative()
    expect(await postRun(server, '', { component: 'nobody' })).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })
})

describe('Idempotency-Key', () => {
  test('[RUN-4] the same start again is the same run, and says that it is', async () => {
    const server = await serveNative()
    const first = await postRun(server, 'text 1', { key: 'k-1' })
    await untilFinished(server, first.body.id)
    const again = await postRun(server, 'text 1', { key: 'k-1' })
    expect(first.headers.get('idempotency-replayed')).toBeNull()
    expect(again.status).toBe(202)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.headers.get('location')).toBe(`/runs/${first.body.id}`)
    expect(again.body).toMatchObject({ id: first.body.id, status: 'completed' })
    expect((await call<RunPage>(server, 'GET', '/runs')).body.runs).toHaveLength(1)
  })

  test('[RUN-4] the order of keys in the body does not make it another start', async () => {
    const server = await serveNative()
    const headers = { 'idempotency-key': 'k-1' }
    const start = async (metadata: unknown) =>
      (await call<RunShape>(server, 'POST', '/runs', { body: { component: 'echo', input: { a: 1, b: [2] }, metadata }, headers })).body.id
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
    expect(other).toMatchObject({ status: 409, body: { code: 'idempotency_conflict', details: { run: first.body.id } } })
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

  test.each(['', 'k'.repeat(257)])('a key of no or too many characters is refused', async (key) => {
    const server = await serveNative()
    expect(await postRun(server, '', { key })).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  })
})

describe.each(['memory', 'sqlite'] as const)('GET /runs on the %s store', (store) => {
  test('lists the newest first, and filters by component, session and status', async () => {
    const server = await serveNative({ store })
    const started: RunShape[] = []
    for (const [component, session, input] of [
      ['lab', 'a', ''],
      ['lab-retry', 'a', 'throw boom'],
      ['lab', 'b', 'ask Go on?'],
      ['lab', 'b', 'reject no'],
    ] as const) {
      started.push(await startRun(server, input, { component, session }))
    }
    const [completed, failed, paused, rejected] = started.map(({ id }) => id)
    for (const id of [completed!, failed!, rejected!]) await untilFinished(server, id)
    await untilStatus(server, paused!, ['paused'])

    expect(await list(server, '')).toEqual([rejected, paused, failed, completed])
    expect(await list(server, '?component=lab')).toEqual([rejected, paused, completed])
    expect(await list(server, '?session=a')).toEqual([failed, completed])
    expect(await list(server, '?session=b&component=lab&status=paused')).toEqual([paused])
    expect(await list(server, '?status=failed,rejected')).toEqual([rejected, failed])
    expect(await list(server, '?status=failed&status=completed')).toEqual([failed, completed])
    expect(await list(server, '?session=nobody')).toEqual([])
  })

  test('has pages that a run which comes or goes in between does not move', async () => {
    const server = await serveNative({ store })
    const ids: string[] = []
    for (let count = 0; count < 7; count++) ids.unshift((await startRun(server, '')).id)
    for (const id of ids) await untilFinished(server, id)

    const first = await page(server, '?limit=3')
    expect(idsOf(first)).toEqual(ids.slice(0, 3))
    await startRun(server, '')
    await call(server, 'DELETE', `/runs/${ids[2]}`) // the run that the cursor stands on
    await call(server, 'DELETE', `/runs/${ids[4]}`)
    const second = await page(server, `?limit=3&cursor=${first.cursor}`)
    expect(idsOf(second)).toEqual([ids[3], ids[5], ids[6]])
    expect(second.cursor).toBeUndefined()
  })

  test('has no cursor on a last page that is full', async () => {
    const server = await serveNative({ store })
    for (let count = 0; count < 2; count++) await startRun(server, '')
    expect(await page(server, '?limit=2')).not.toHaveProperty('cursor')
  })

  test.each([
    ['limit=0', 'invalid_request'],
    ['limit=-1', 'invalid_request'],
    ['limit=ten', 'invalid_request'],
    ['status=done', 'invalid_request'],
    ['status=', 'invalid_request'],
    ['cursor=', 'cursor_invalid'],
    ['cursor=nonsense', 'cursor_invalid'],
    ['cursor=W10', 'cursor_invalid'],
    ['cursor=WzEsMl0', 'cursor_invalid'],
    ['cursor=bnVsbA', 'cursor_invalid'],
  ])('refuses %s', async (query, code) => {
    const server = await serveNative({ store })
    expect(await call(server, 'GET', `/runs?${query}`)).toMatchObject({ status: 400, body: { code } })
  })
})

test('GET /runs gives no more than the bound, whatever limit is asked for', async () => {
  const server = await serveNative({ limits: { pageRunsMax: 2 } })
  for (let count = 0; count < 3; count++) await startRun(server, '')
  expect(idsOf(await page(server, '?limit=1000'))).toHaveLength(2)
  expect(idsOf(await page(server, ''))).toHaveLength(2)
})

describe('GET /runs/{id}', () => {
  test.each([
    ['complete all is well', { status: 'completed', output: 'all is well' }],
    ['throw boom', { status: 'failed', error: { code: 'agent_failed', message: 'boom' } }],
    ['circular', { status: 'failed', error: { code: 'unserializable', details: { event: 'custom.emitted' } } }],
    ['reject not today', { status: 'rejected' }],
  ])('[RUN-3] says how %j ended', async (script, ending) => {
    const server = await serveNative()
    const { id } = await startRun(server, script)
    await readLog(server, id)
    const run = await getRun(server, id)
    expect(run).toMatchObject({ ...ending, startedAt: expect.any(String), finishedAt: expect.any(String) })
    const shown = Object.keys(ending)
    for (const field of ['output', 'error'] as const) {
      expect(Object.hasOwn(run, field), field).toBe(shown.includes(field))
    }
  })

  test('says what a paused run waits for', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'ask Shall I go on?')
    const run = await untilStatus(server, id, ['paused'])
    expect(run.waiting).toEqual([{ id: 'question', kind: 'input', prompt: 'Shall I go on?' }])
    expect(run).not.toHaveProperty('finishedAt')
  })

  test('does not show who owns the run, nor where it waits', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, '', { component: 'single', session: 's' })
    const run = await getRun(server, id)
    for (const inner of ['owner', 'lane', 'wakeAt', 'lease', 'epoch']) expect(run).not.toHaveProperty(inner)
  })

  test('counts the events that are written and names the earliest that is kept', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 5')
    await untilFinished(server, id)
    await server.store.trim(id, 4)
    expect(await getRun(server, id)).toMatchObject({ events: 8, earliest: 4 })
  })

  test('is not found for an id that nobody has', async () => {
    const server = await serveNative()
    expect(await call(server, 'GET', '/runs/run_0')).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })
})

describe('DELETE /runs/{id}', () => {
  test.each(['memory', 'sqlite'] as const)('removes a finished run from the %s store, once', async (store) => {
    const server = await serveNative({ store })
    const { id } = await startRun(server, 'text 2')
    await untilFinished(server, id)
    expect((await call(server, 'DELETE', `/runs/${id}`)).status).toBe(204)
    for (const [method, path] of [
      ['DELETE', ''],
      ['GET', ''],
      ['GET', '/events'],
      ['POST', '/stop'],
    ]) {
      expect(await call(server, method!, `/runs/${id}${path}`)).toMatchObject({ status: 404, body: { code: 'not_found' } })
    }
    expect(await list(server, '')).toEqual([])
  })

  test.each(['hang', 'ask Really?'])('refuses while the run is not over: %j', async (script) => {
    const server = await serveNative()
    const { id } = await startRun(server, script)
    await untilStatus(server, id, ['running', 'paused'])
    expect(await call(server, 'DELETE', `/runs/${id}`)).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect((await call(server, 'GET', `/runs/${id}`)).status).toBe(200)
  })
})

describe('POST /runs/{id}/stop', () => {
  test('[RUN-2] notes the stop and answers 202 at once', async () => {
    const server = await serveNative({ limits: { stopGraceMs: 60_000 } })
    const { id } = await startRun(server, 'ignore-abort; hang')
    await untilStatus(server, id, ['running'])
    const { status, body } = await call<RunShape>(server, 'POST', `/runs/${id}/stop`)
    expect(status).toBe(202)
    expect(body).toMatchObject({ id, status: 'running', stopRequested: true })
  })

  test('[RUN-2] with wait answers 200 when the run is over, and the reason is in the log', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'hang')
    const { status, body } = await call<RunShape>(server, 'POST', `/runs/${id}/stop?wait=10000`, { body: { reason: 'enough' } })
    expect(status).toBe(200)
    expect(body).toMatchObject({ id, status: 'cancelled', stopRequested: true })
    const events = await readEvents(server, id)
    expect(events.at(-1)).toMatchObject({ type: 'run.cancelled', data: { reason: 'enough', by: 'local' } })
  })

  test('with a wait that is over before the run answers 202', async () => {
    const server = await serveNative({ limits: { stopGraceMs: 60_000 } })
    const { id } = await startRun(server, 'ignore-abort; hang')
    await untilStatus(server, id, ['running'])
    expect(await call(server, 'POST', `/runs/${id}/stop?wait=30`)).toMatchObject({ status: 202, body: { status: 'running' } })
  })

  test('[RUN-2] leaves a finished run as it ended, and may be repeated', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'complete done')
    const finished = await untilFinished(server, id)
    for (let count = 0; count < 2; count++) {
      expect(await call(server, 'POST', `/runs/${id}/stop`)).toMatchObject({ status: 200, body: finished })
    }
    const other = await startRun(server, 'hang')
    const stop = () => call<RunShape>(server, 'POST', `/runs/${other.id}/stop?wait=10000`)
    const answers = await Promise.all([stop(), stop(), stop()])
    for (const answer of answers) expect(answer).toMatchObject({ status: 200, body: { status: 'cancelled' } })
    expect(answers[0]!.body).toEqual(await getRun(server, other.id))
  })

  test.each<[string, unknown]>([
    ['?wait=-1', undefined],
    ['?wait=soon', undefined],
    ['', { reason: 7 }],
    ['', { reason: 'r'.repeat(1001) }],
    ['', { why: 'typo' }],
    ['', 'because'],
  ])('refuses %s %j, and the run goes on', async (query, body) => {
    const server = await serveNative()
    const { id } = await startRun(server, 'hang')
    const answer = await call(server, 'POST', `/runs/${id}/stop${query}`, body === undefined ? {} : { body })
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    expect(await getRun(server, id)).not.toHaveProperty('stopRequested')
  })

  test('a wait does not need a place among the subscribers of the run', async () => {
    const server = await serveNative({ limits: { subscribersPerRunMax: 1 } })
    const { id } = await startRun(server, 'ignore-abort; hang')
    const stream = new EventStream(`${server.url}/runs/${id}/events`)
    expect(await stream.status()).toBe(200)
    expect(await call(server, 'POST', `/runs/${id}/stop?wait=10000`)).toMatchObject({ status: 200, body: { status: 'cancelled' } })
    await stream.ended
  })
})

describe('POST /runs/{id}/input', () => {
  test.for(['yes', '', null, false, 0, { go: 'on' }])('takes %j as the answer to the one question', async (answer) => {
    const server = await serveNative()
    const { id } = await startRun(server, 'ask Go on?')
    await untilStatus(server, id, ['paused'])
    const { status, body } = await call<RunShape>(server, 'POST', `/runs/${id}/input`, { body: { answer } })
    expect(status).toBe(202)
    expect(body.id).toBe(id)
    expect(body).not.toHaveProperty('waiting')
    const events = await readEvents(server, id)
    expect(events.find(({ type }) => type === 'run.resumed')).toMatchObject({ data: { answers: { question: answer }, by: 'local' } })
    expect(events.find(({ type }) => type === 'custom.emitted')).toMatchObject({ data: { name: 'answer', value: answer } })
    expect(events.at(-1)!.type).toBe('run.completed')
  })

  test('takes answers by id for a run that asks several questions', async () => {
    const server = await serveNative()
    const { body: started } = await call<RunShape>(server, 'POST', '/runs', { body: { component: 'surveyor', input: '' } })
    const { id, waiting } = await untilStatus(server, started.id, ['paused'])
    const [long, wide] = waiting!.map((question) => question.id)
    const input = (body: unknown) => call<Problem>(server, 'POST', `/runs/${id}/input`, { body })

    expect(await input({ answer: 7 })).toMatchObject({ status: 400, body: { detail: expect.stringContaining('several questions') } })
    expect(await input({ answers: { [long!]: 7 } })).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', detail: expect.stringContaining(wide!), details: { questions: waiting } },
    })
    expect(await input({ answers: { [long!]: 7, [wide!]: 8, depth: 9 } })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('there is no question depth') },
    })
    expect((await getRun(server, id)).status).toBe('paused')
    expect((await input({ answers: { [wide!]: 8, [long!]: 7 } })).status).toBe(202)
    expect((await untilFinished(server, id)).output).toEqual([7, 8])
  })

  test('takes one of two answers that come at once', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'ask Who is first?; hang')
    await untilStatus(server, id, ['paused'])
    const input = (answer: string) => call<Problem>(server, 'POST', `/runs/${id}/input`, { body: { answer } })
    const answers = await Promise.all([input('I'), input('I, too')])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([202, 409])
  })

  test.each<[string, unknown]>([
    ['neither', {}],
    ['both', { answer: 1, answers: {} }],
    ['no object', [1]],
    ['answers that are no object', { answers: [1] }],
    ['something else', { reply: 1 }],
    ['no body', undefined],
  ])('refuses %s', async (_name, body) => {
    const server = await serveNative()
    const { id } = await startRun(server, 'ask Go on?')
    await untilStatus(server, id, ['paused'])
    const answer = await call(server, 'POST', `/runs/${id}/input`, body === undefined ? {} : { body })
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  })

  test.each(['hang', 'text 1'])('refuses an answer to a run that asks nothing: %j', async (script) => {
    const server = await serveNative()
    const { id } = await startRun(server, script)
    await untilStatus(server, id, ['running', 'completed'])
    for (const body of [{ answer: 1 }, { answers: {} }]) {
      expect(await call(server, 'POST', `/runs/${id}/input`, { body })).toMatchObject({ status: 409, body: { code: 'conflict' } })
    }
  })
})

test('GET /components says what can be run, and how it behaves', async () => {
  const server = await serveNative()
  const { body } = await call<{ components: readonly Record<string, unknown>[] }>(server, 'GET', '/components')
  expect(body.components.map(({ id }) => id)).toEqual(['lab', 'lab-retry', 'lab-resume', 'echo', 'surveyor', 'single'])
  expect(body.components[1]).toMatchObject({ kind: 'agent', name: 'Lab', recovery: 'retry', session: 'parallel' })
  expect(body.components[3]).toEqual({ id: 'echo', kind: 'agent', recovery: 'fail', session: 'parallel' })
  expect(body.components[5]).toMatchObject({ session: 'reject' })
})

test('GET /health says what the server is doing', async () => {
  const server = await serveNative()
  const { id } = await startRun(server, 'hang')
  const stream = new EventStream(`${server.url}/runs/${id}/events`)
  await stream.status()
  expect(await call(server, 'GET', '/health')).toMatchObject({
    status: 200,
    body: { status: 'ok', store: { ok: true }, draining: false, running: 1, subscribers: 1 },
  })
  stream.cut()
})

async function page(server: NativeServer, query: string): Promise<RunPage> {
  const { status, body } = await call<RunPage>(server, 'GET', `/runs${query}`)
  expect(status).toBe(200)
  return body
}

function idsOf({ runs }: RunPage): string[] {
  return runs.map(({ id }) => id)
}

async function list(server: NativeServer, query: string): Promise<string[]> {
  return idsOf(await page(server, query))
}
