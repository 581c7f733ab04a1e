import { describe, expect, test } from 'vitest'
import { labAgent } from '../../src/agents/lab/agent.ts'
import { checkedEnd, type Recorded } from '../support/checker.ts'
import { EventStream } from '../support/event-stream.ts'
import {
  call,
  FINISHED,
  followRun,
  getRun,
  readLog,
  startRun,
  stopRun,
  type Target,
  untilFinished,
  untilStatus,
} from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'

const WAIT_MS = 10_000

describe('[RUN-2] [RUN-3] a stop', () => {
  test('a stop that races with the end of the run leaves one outcome, the same for every reader', async () => {
    const server = await serveInProcess()
    const events = 25
    const outcomes: Record<string, number> = {}
    // It comes after each event of the run in turn, most often after the last ones.
    const moments = [
      ...Array.from({ length: events }, (_, index) => index + 1),
      ...Array.from({ length: 45 }, (_, index) => events - 1 - (index % 3)),
    ]
    for (let first = 0; first < moments.length; first += 10) {
      const races = moments.slice(first, first + 10).map(async (moment) => {
        const { id } = await startRun(server, 'text 20 every 1; step last')
        const stream = followRun(server, id)
        await until(`event ${moment} is seen`, () => stream.events >= moment, { everyMs: 1 })
        const answers = await Promise.all([stopRun(server, id, WAIT_MS), stopRun(server, id, WAIT_MS)])
        const last = (await expectOneEnd(server, id)).at(-1)!
        for (const { status } of answers) expect(`run.${status}`).toBe(last.type)
        outcomes[last.type] = (outcomes[last.type] ?? 0) + 1
      })
      await Promise.all(races)
    }
    expect(Object.keys(outcomes).toSorted()).toEqual(['run.cancelled', 'run.completed'])
  })

  test('a stop that is requested twice is carried out once, with the first reason', async () => {
    const server = await serveInProcess()
    const { id } = await startRun(server, 'text 3; hang')
    await untilTexts(server, id, 3)
    const first = await call(server, 'POST', `/runs/${id}/stop?wait=${WAIT_MS}`, { body: { reason: 'first' } })
    const second = await call(server, 'POST', `/runs/${id}/stop?wait=${WAIT_MS}`, { body: { reason: 'second' } })
    expect(first).toMatchObject({ status: 200, body: { status: 'cancelled' } })
    expect(second).toMatchObject({ status: 200, body: first.body })
    const records = await expectOneEnd(server, id)
    expect(stopsOf(records)).toMatchObject([{ data: { reason: 'first' } }])
    expect(records.at(-1)).toMatchObject({ type: 'run.cancelled', data: { reason: 'first' } })
  })

  test('a stop that twenty clients request at once is carried out once, and all get the same response', async () => {
    const server = await serveInProcess()
    const { id } = await startRun(server, 'text 1000 every 1')
    await untilTexts(server, id, 5)
    const answers = await Promise.all(Array.from({ length: 20 }, () => stopRun(server, id, WAIT_MS)))
    for (const answer of answers) expect(answer).toEqual(answers[0])
    expect(answers[0]).toMatchObject({ status: 'cancelled' })
    expect(stopsOf(await expectOneEnd(server, id))).toHaveLength(1)
  })

  test.each(['text 100000', 'sleep 60000; text 1', 'hang'])(
    'a stop before the first event of "%s" ends the run',
    async (script) => {
      const server = await serveInProcess()
      await Promise.all(
        Array.from({ length: 10 }, async () => {
          const { id } = await startRun(server, script)
          expect(await stopRun(server, id, WAIT_MS)).toMatchObject({ status: 'cancelled' })
          expect((await expectOneEnd(server, id)).at(-1)!.type).toBe('run.cancelled')
        }),
      )
    },
  )

  test('ends a queued run, which never starts', async () => {
    const server = await serveInProcess({ limits: { maxConcurrentRuns: 1 } })
    const busy = await startRun(server, 'hang')
    await untilStatus(server, busy.id, ['running'])
    const { id, status } = await startRun(server, 'text 3')
    expect(status).toBe('queued')
    expect(await stopRun(server, id, WAIT_MS)).toMatchObject({ status: 'cancelled' })
    expect(typesOf(await expectOneEnd(server, id))).toEqual(['run.created', 'stop.requested', 'run.cancelled'])
    expect(await getRun(server, busy.id)).toMatchObject({ status: 'running' })
  })

  test('ends a run queued behind another of its session, and the one behind it starts', async () => {
    const server = await serveInProcess({ components: [{ ...labAgent(), onBusySession: 'enqueue' }] })
    const [first, second, third] = [
      await startRun(server, 'text 1; hang', { session: 'one' }),
      await startRun(server, 'text 2', { session: 'one' }),
      await startRun(server, 'text 3', { session: 'one' }),
    ]
    expect(await stopRun(server, second.id, WAIT_MS)).toMatchObject({ status: 'cancelled' })
    expect(typesOf(await expectOneEnd(server, second.id))).not.toContain('run.started')
    expect(await getRun(server, third.id)).toMatchObject({ status: 'queued' })
    expect(await stopRun(server, first.id, WAIT_MS)).toMatchObject({ status: 'cancelled' })
    expect(await untilFinished(server, third.id)).toMatchObject({ status: 'completed' })
  })

  test('ends a paused run, and a later answer is rejected', async () => {
    const server = await serveInProcess()
    const { id } = await startRun(server, 'text 1; ask Go on?; text 1')
    await untilStatus(server, id, ['paused'])
    expect(await stopRun(server, id, WAIT_MS)).toMatchObject({ status: 'cancelled' })
    expect(await call(server, 'POST', `/runs/${id}/answers`, { body: { answer: 'yes' } })).toMatchObject({
      status: 409,
      body: { code: 'conflict' },
    })
    expect(typesOf(await expectOneEnd(server, id)).slice(-3)).toEqual(['run.paused', 'stop.requested', 'run.cancelled'])
  })

  test('a stop that races with an answer leaves one outcome', async () => {
    const server = await serveInProcess()
    const outcomes: Record<string, number> = {}
    // The stop comes at once, and after each event that the answer leads to: resumed, a text, completed.
    await Promise.all(
      Array.from({ length: 40 }, async (_, place) => {
        const { id } = await startRun(server, 'ask Go on?; text 1 every 5')
        const { events } = await untilStatus(server, id, ['paused'])
        const stream = followRun(server, id)
        const answer = call(server, 'POST', `/runs/${id}/answers`, { body: { answer: 'yes' } })
        const moment = place % 4
        if (moment > 0)
          await until(`event ${moment} after the answer is seen`, () => stream.events >= events + moment, {
            everyMs: 1,
          })
        const stopped = await stopRun(server, id, WAIT_MS)
        expect([202, 409]).toContain((await answer).status)
        const last = (await expectOneEnd(server, id)).at(-1)!
        expect(last.type).toBe(`run.${stopped.status}`)
        outcomes[last.type] = (outcomes[last.type] ?? 0) + 1
      }),
    )
    expect(Object.keys(outcomes).toSorted()).toEqual(['run.cancelled', 'run.completed'])
  })

  test.each(['text 3', 'throw boom', 'reject no'])('leaves the finished run "%s" unchanged', async (script) => {
    const server = await serveInProcess()
    const { id } = await startRun(server, script)
    const before = await untilFinished(server, id)
    const log = await readLog(server, id)
    expect(await call(server, 'POST', `/runs/${id}/stop`)).toMatchObject({ status: 200, body: before })
    expect((await readLog(server, id)).equals(log)).toBe(true)
    expect(await getRun(server, id)).toEqual(before)
  })

  test.each([
    'ignore-abort; text 3; hang',
    'ignore-abort; text 1000000 every 1',
    'ignore-abort; step long 60000',
    'ignore-abort; text 1000000',
  ])('ends "%s", which ignores its signal, after the grace period', async (script) => {
    const server = await serveInProcess({ limits: { stopGraceMs: 200 } })
    const { id } = await startRun(server, script)
    await until('it is under way', async () => (await getRun(server, id)).events > 2)
    expect(await stopRun(server, id, WAIT_MS)).toMatchObject({ status: 'cancelled' })
    const { events } = await getRun(server, id)
    expect(stopsOf(await expectOneEnd(server, id))).toHaveLength(1)
    // Output after the stop would have been written in the time that another run needs for its texts.
    await untilFinished(server, (await startRun(server, 'text 50 every 1')).id)
    expect(await getRun(server, id)).toMatchObject({ status: 'cancelled', events })
  })
})

describe('[RUN-2] after a kill', () => {
  test('a paused run can be stopped', async () => {
    const store = temporaryDatabase()
    const server = await startServer({ store })
    const { id } = await startRun(server, 'text 2; ask Go on?')
    await untilStatus(server, id, ['paused'])
    await server.kill()

    const again = await startServer({ store })
    expect(await getRun(again, id)).toMatchObject({ status: 'paused' })
    expect(await stopRun(again, id, WAIT_MS)).toMatchObject({ status: 'cancelled' })
    expect(await stopRun(again, id, WAIT_MS)).toMatchObject({ status: 'cancelled' })
    expect(stopsOf(await expectOneEnd(again, id))).toHaveLength(1)
  })

  test('a recovered run can be stopped', async () => {
    const store = temporaryDatabase()
    const server = await startServer({ store })
    const { id } = await startRun(server, 'text 2; hang', { component: 'lab-resume' })
    await untilTexts(server, id, 2)
    await server.kill()

    const again = await startServer({ store })
    await until('it goes on', async () => (await getRun(again, id)).attempt === 2)
    expect(await stopRun(again, id, WAIT_MS)).toMatchObject({ status: 'cancelled' })
    expect(stopsOf(await expectOneEnd(again, id))).toHaveLength(1)
  })

  test('an accepted stop is carried out, whatever the run’s recovery policy', async () => {
    const store = temporaryDatabase()
    const server = await startServer({ store })
    const components = ['lab', 'lab-retry', 'lab-resume']
    const runs = await Promise.all(
      components.map((component) => startRun(server, 'ignore-abort; text 2; hang', { component })),
    )
    for (const { id } of runs) await untilTexts(server, id, 2)
    // Their agents do not obey, so within the grace nothing but the request is there when the kill comes.
    const answers = await Promise.all(runs.map(({ id }) => stopRun(server, id)))
    await server.kill()
    for (const { status } of answers) expect(FINISHED).not.toContain(status)

    const again = await startServer({ store })
    for (const { id } of runs) {
      expect(await untilFinished(again, id)).toMatchObject({ status: 'cancelled' })
      const records = await expectOneEnd(again, id)
      expect(typesOf(records).filter((type) => type === 'run.started')).toHaveLength(1)
    }
  })
})

test('[RUN-2] a run continues when its client disconnects', async () => {
  const server = await serveInProcess()
  const body = { component: 'lab', input: 'text 20 every 5' }
  const stream = new EventStream(`${server.url}/runs`, { method: 'POST', body, cutAfter: 4 })
  const id = (await stream.headers())['holdfast-run'] as string
  expect(await stream.ended).toBe('cut')
  expect(await untilFinished(server, id)).toMatchObject({ status: 'completed' })
  expect((await expectOneEnd(server, id)).filter(({ type }) => type === 'text.delta')).toHaveLength(20)
})

async function expectOneEnd(server: Target, id: string): Promise<Recorded[]> {
  const records = checkedEnd(id, await readLog(server, id))
  expect(await getRun(server, id)).toMatchObject({
    status: records.at(-1)!.type.slice('run.'.length),
    events: records.length,
  })
  return records
}

function untilTexts(server: Target, id: string, count: number): Promise<unknown> {
  // Created, started, and then the texts.
  return until(`run ${id} has said ${count} texts`, async () => (await getRun(server, id)).events >= count + 2)
}

function stopsOf(records: readonly Recorded[]): Recorded[] {
  return records.filter(({ type }) => type === 'stop.requested')
}

function typesOf(records: readonly Recorded[]): string[] {
  return records.map(({ type }) => type)
}
