/** Reading, stopping, answering and removing one run over the native protocol. */
import { describe, expect, test } from 'vitest'
import type { RunShape } from '../../../src/protocols/native/wire/shapes.ts'
import { EventStream } from '../../support/event-stream.ts'
import { call, getRun, readEvents, readLog, startRun, untilFinished, untilStatus } from '../../support/http.ts'
import { serveNative } from './serve.ts'
import type { Problem, RunPage } from './shapes.ts'

describe('GET /runs/{id}', () => {
  test.each([
    ['complete all is well', { status: 'completed', output: 'all is well' }],
    ['throw boom', { status: 'failed', error: { code: 'agent_failed', message: 'boom' } }],
    ['circular', { status: 'failed', error: { code: 'unserializable', details: { event: 'custom.emitted' } } }],
    ['reject not today', { status: 'rejected' }],
  ])('[RUN-3] reports how %j ended', async (script, ending) => {
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

  test('reports what a paused run waits for', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'ask Shall I go on?')
    const run = await untilStatus(server, id, ['paused'])
    expect(run.waiting).toEqual([{ id: 'question', kind: 'input', prompt: 'Shall I go on?' }])
    expect(run).not.toHaveProperty('finishedAt')
  })

  test('hides the run’s owner and lane', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, '', { component: 'single', session: 's' })
    const run = await getRun(server, id)
    for (const inner of ['owner', 'lane', 'wakeAt', 'lease', 'epoch']) expect(run).not.toHaveProperty(inner)
  })

  test('counts the written events and names the earliest retained one', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 5')
    await untilFinished(server, id)
    await server.store.trim(id, 4)
    expect(await getRun(server, id)).toMatchObject({ events: 8, earliest: 4 })
  })

  test('gets 404 for an unknown id', async () => {
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
      expect(await call(server, method!, `/runs/${id}${path}`)).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      })
    }
    expect((await call<RunPage>(server, 'GET', '/runs')).body.runs).toEqual([])
  })

  test.each(['hang', 'ask Really?'])('is rejected while the run has not ended: %j', async (script) => {
    const server = await serveNative()
    const { id } = await startRun(server, script)
    await untilStatus(server, id, ['running', 'paused'])
    expect(await call(server, 'DELETE', `/runs/${id}`)).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect((await call(server, 'GET', `/runs/${id}`)).status).toBe(200)
  })
})

describe('POST /runs/{id}/stop', () => {
  test('[RUN-2] records the stop and returns 202 at once', async () => {
    const server = await serveNative({ limits: { stopGraceMs: 60_000 } })
    const { id } = await startRun(server, 'ignore-abort; hang')
    await untilStatus(server, id, ['running'])
    const { status, body } = await call<RunShape>(server, 'POST', `/runs/${id}/stop`)
    expect(status).toBe(202)
    expect(body).toMatchObject({ id, status: 'running', stopRequested: true })
  })

  test('[RUN-2] a stop with wait returns 200 when the run has ended, and the reason is in the log', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'hang')
    const { status, body } = await call<RunShape>(server, 'POST', `/runs/${id}/stop?wait=10000`, {
      body: { reason: 'enough' },
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({ id, status: 'cancelled', stopRequested: true })
    const events = await readEvents(server, id)
    expect(events.at(-1)).toMatchObject({ type: 'run.cancelled', data: { reason: 'enough', by: 'local' } })
  })

  test('a stop with a wait shorter than the run returns 202', async () => {
    const server = await serveNative({ limits: { stopGraceMs: 60_000 } })
    const { id } = await startRun(server, 'ignore-abort; hang')
    await untilStatus(server, id, ['running'])
    expect(await call(server, 'POST', `/runs/${id}/stop?wait=30`)).toMatchObject({
      status: 202,
      body: { status: 'running' },
    })
  })

  test('[RUN-2] leaves a finished run unchanged, and may be repeated', async () => {
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
    expect(answers[0].body).toEqual(await getRun(server, other.id))
  })

  test.each<[string, string, unknown]>([
    ['a wait of less than nothing', '?wait=-1', undefined],
    ['a wait that is not a number', '?wait=soon', undefined],
    ['a reason that is not a string', '', { reason: 7 }],
    ['a reason of 1001 characters', '', { reason: 'r'.repeat(1001) }],
    ['a field that is not known', '', { why: 'typo' }],
    ['no object', '', 'because'],
  ])('rejects %s, and the run continues', async (_name, query, body) => {
    const server = await serveNative()
    const { id } = await startRun(server, 'hang')
    const answer = await call(server, 'POST', `/runs/${id}/stop${query}`, body === undefined ? {} : { body })
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    expect(await getRun(server, id)).not.toHaveProperty('stopRequested')
  })

  test('a stop with wait does not count as a subscriber of the run', async () => {
    const server = await serveNative({ limits: { maxSubscribersPerRun: 1 } })
    const { id } = await startRun(server, 'ignore-abort; hang')
    const stream = new EventStream(`${server.url}/runs/${id}/events`)
    expect(await stream.status()).toBe(200)
    expect(await call(server, 'POST', `/runs/${id}/stop?wait=10000`)).toMatchObject({
      status: 200,
      body: { status: 'cancelled' },
    })
    await stream.ended
  })
})

describe('POST /runs/{id}/answers', () => {
  test.each(['yes', 'true', 1, null, { approved: 'yes' }])(
    'rejects %j as the answer to an approval, and lists the allowed values',
    async (answer) => {
      const server = await serveNative()
      const { id } = await startRun(server, 'x', { component: 'approver' })
      await untilStatus(server, id, ['paused'])
      const refused = await call<Problem>(server, 'POST', `/runs/${id}/answers`, { body: { answer } })
      expect(refused.status).toBe(400)
      expect(refused.body.detail).toContain('must be true or false or an object with approved: true or false')
      expect((await call(server, 'POST', `/runs/${id}/answers`, { body: { answer: true } })).status).toBe(202)
      expect((await untilFinished(server, id)).output).toEqual({ approved: true })
    },
  )

  test.each(['"yes"', '""', 'null', 'false', '0', '{"go":"on"}'])(
    'accepts %s as the answer to the one question',
    async (json) => {
      const answer: unknown = JSON.parse(json)
      const server = await serveNative()
      const { id } = await startRun(server, 'ask Go on?')
      await untilStatus(server, id, ['paused'])
      const { status, body } = await call<RunShape>(server, 'POST', `/runs/${id}/answers`, { body: { answer } })
      expect(status).toBe(202)
      expect(body.id).toBe(id)
      expect(body).not.toHaveProperty('waiting')
      const events = await readEvents(server, id)
      expect(events.find(({ type }) => type === 'run.resumed')).toMatchObject({
        data: { answers: { question: answer }, by: 'local' },
      })
      expect(events.find(({ type }) => type === 'custom.emitted')).toMatchObject({
        data: { name: 'answer', value: answer },
      })
      expect(events.at(-1)!.type).toBe('run.completed')
    },
  )

  test('accepts answers by id for a run with several questions', async () => {
    const server = await serveNative()
    const { body: started } = await call<RunShape>(server, 'POST', '/runs', {
      body: { component: 'surveyor', input: '' },
    })
    const { id, waiting } = await untilStatus(server, started.id, ['paused'])
    const [long, wide] = waiting!.map((question) => question.id)
    const input = (body: unknown) => call<Problem>(server, 'POST', `/runs/${id}/answers`, { body })

    expect(await input({ answer: 7 })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('several open questions') },
    })
    expect(await input({ answers: { [long!]: 7 } })).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', detail: expect.stringContaining(wide!), details: { questions: waiting } },
    })
    expect(await input({ answers: { [long!]: 7, [wide!]: 8, depth: 9 } })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('there is no question depth') },
    })
    const many = Object.fromEntries(Array.from({ length: 9000 }, (_, index) => [`${'x'.repeat(400)}${index}`, 1]))
    expect(await input({ answers: many })).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/^there is no question x{400}0, x/) },
    })
    expect((await getRun(server, id)).status).toBe('paused')
    expect((await input({ answers: { [wide!]: 8, [long!]: 7 } })).status).toBe(202)
    expect((await untilFinished(server, id)).output).toEqual([7, 8])
  })

  test('accepts one of two concurrent answers', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'ask Who is first?; hang')
    await untilStatus(server, id, ['paused'])
    const input = (answer: string) => call<Problem>(server, 'POST', `/runs/${id}/answers`, { body: { answer } })
    const answers = await Promise.all([input('I'), input('I, too')])
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202, 409]))
  })

  test.each<[string, unknown]>([
    ['neither', {}],
    ['both', { answer: 1, answers: {} }],
    ['no object', [1]],
    ['answers that are no object', { answers: [1] }],
    ['something else', { reply: 1 }],
    ['no body', undefined],
  ])('rejects %s', async (_name, body) => {
    const server = await serveNative()
    const { id } = await startRun(server, 'ask Go on?')
    await untilStatus(server, id, ['paused'])
    const answer = await call(server, 'POST', `/runs/${id}/answers`, body === undefined ? {} : { body })
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  })

  test.each(['hang', 'text 1'])('rejects an answer to a run without questions: %j', async (script) => {
    const server = await serveNative()
    const { id } = await startRun(server, script)
    await untilStatus(server, id, ['running', 'completed'])
    for (const body of [{ answer: 1 }, { answers: {} }]) {
      expect(await call(server, 'POST', `/runs/${id}/answers`, { body })).toMatchObject({
        status: 409,
        body: { code: 'conflict' },
      })
    }
  })
})
