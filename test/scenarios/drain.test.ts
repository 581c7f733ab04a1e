import { describe, expect, test } from 'vitest'
import { assertSeenIsInLog, checkedEnd, numbersIn, type Recorded, standingTexts } from '../support/checker.ts'
import type { EventStream } from '../support/event-stream.ts'
import {
  answerRun,
  call,
  eventsIn,
  followRun,
  getRun,
  postRun,
  readLog,
  startRun,
  stopRun,
  type Target,
  untilFinished,
  untilStatus,
} from '../support/http.ts'
import { type Exit, type ServerProcess, startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'

const CLEAN: Exit = { code: 0, signal: null }
/** Three seconds or more. */
const LONG = 'text 100 every 30'

describe('[SUB-3] [RUN-1] a server that drains', () => {
  test('finishes short runs, hands long ones over, tells subscribers where to resume, and exits with 0', async () => {
    const store = temporaryDatabase()
    const server = await startServer({ store, args: ['--drain-timeout', '1s'] })
    const short = await startRun(server, 'text 15 every 20')
    const components = ['lab', 'lab-retry', 'lab-resume'] as const
    const long = await Promise.all(components.map((component) => startRun(server, LONG, { component })))
    const streams = [short, ...long].map(({ id }) => followRun(server, id))
    await until('all are under way', () => streams.every(({ events }) => events > 3))

    expect(await server.terminate()).toEqual(CLEAN)
    const [shortStream, ...longStreams] = streams as [EventStream, ...EventStream[]]
    expect(await shortStream.ended).toBe('closed')
    expect(checkedEnd(short.id, shortStream.log).at(-1)!.type).toBe('run.completed')
    const cursors: number[] = []
    for (const [place, stream] of longStreams.entries()) {
      expect(await stream.ended).toBe('closed')
      const closing = closingOf(stream)
      expect(closing).toMatchObject({ run: long[place]!.id, reason: 'draining', cursor: stream.events - 1 })
      expect(eventsIn(stream.log).at(-1)!.index).toBe(closing.cursor)
      cursors.push(closing.cursor)
    }

    const again = await startServer({ store })
    const [failed, retried, resumed] = await Promise.all(long.map(({ id }) => end(again, id)))
    expect(failed!.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { code: 'interrupted' } } })
    for (const records of [retried!, resumed!]) {
      expect(records.at(-1)!.type).toBe('run.completed')
      expect(numbersIn(standingTexts(records))).toEqual(Array.from({ length: 100 }, (_, number) => number))
    }
    for (const [place, { id }] of long.entries()) {
      const log = await readLog(again, id)
      const rest = followRun(again, id, { after: cursors[place]! })
      expect(await rest.ended).toBe('closed')
      assertSeenIsInLog(id, Buffer.concat([longStreams[place]!.log, rest.log]), log)
    }
  })

  test('rejects new runs with 503, reports not ready, and still serves reads', async () => {
    const server = await startServer({ store: temporaryDatabase(), args: ['--drain-timeout', '10s'] })
    const early = await startRun(server, 'text 3')
    await untilFinished(server, early.id)
    const { id } = await startRun(server, 'text 3; hang')
    await untilStatus(server, id, ['running'])
    const paused = await startRun(server, 'ask Go on?')
    await untilStatus(server, paused.id, ['paused'])

    const exited = server.terminate()
    const health = await until('health is red', async () => {
      const answer = await call(server, 'GET', '/health')
      return answer.status === 503 && answer
    })
    expect(health.body).toMatchObject({ draining: true })
    for (const refused of [
      await postRun(server, 'text 1'),
      await call(server, 'POST', `/runs/${paused.id}/answers`, { body: { answer: 'yes' } }),
    ]) {
      expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable', retryable: true } })
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect(checkedEnd(early.id, await readLog(server, early.id)).at(-1)!.type).toBe('run.completed')
    expect(await getRun(server, id)).toMatchObject({ status: 'running' })

    // What it waits for can still be stopped, and then it need not wait any longer.
    const stream = followRun(server, id)
    await stopRun(server, id)
    expect(await stream.ended).toBe('closed')
    expect(checkedEnd(id, stream.log).at(-1)!.type).toBe('run.cancelled')
    expect(await exited).toEqual(CLEAN)
  })

  test('leaves paused runs to the next server, which resumes them', async () => {
    const store = temporaryDatabase()
    const server = await startServer({ store })
    const { id } = await startRun(server, 'text 2; ask Go on?; text 2')
    const stream = followRun(server, id)
    await untilStatus(server, id, ['paused'])
    expect(await server.terminate()).toEqual(CLEAN)
    expect(closingOf(stream)).toMatchObject({ run: id, cursor: stream.events - 1 })

    const again = await startServer({ store })
    expect(await getRun(again, id)).toMatchObject({ status: 'paused' })
    await answerRun(again, id, 'yes')
    const records = await end(again, id)
    expect(records.at(-1)!.type).toBe('run.completed')
    expect(numbersIn(standingTexts(records))).toEqual([0, 1, 2, 3])
  })

  test.each(['SIGTERM', 'SIGINT'] as const)('exits at once on %s if it is idle', async (signal) => {
    const store = temporaryDatabase()
    const server = await startServer({ store })
    const { id } = await startRun(server, 'text 3')
    await untilFinished(server, id)
    process.kill(server.pid, signal)
    expect(await server.exited).toEqual(CLEAN)
  })
})

describe('[SUB-3] a server that drains is not delayed', () => {
  test('agents that ignore the abort signal do not delay the exit', async () => {
    const server = await startServer({ store: temporaryDatabase(), args: ['--drain-timeout', '100ms'] })
    for (const script of ['ignore-abort; sleep 600000', 'ignore-abort; hang', 'ignore-abort; text 1000000 every 1'])
      await startRun(server, script)
    await expectExitSoon(server)
  })

  test('subscribers that do not read do not delay the exit', async () => {
    const server = await startServer({ store: temporaryDatabase(), args: ['--drain-timeout', '100ms'] })
    const { id } = await startRun(server, `${Array.from({ length: 50 }, () => 'big 200').join('; ')}; hang`)
    const stalled = [1, 2, 3].map(() => followRun(server, id, { stalled: true }))
    await until('the run has said it all', async () => (await getRun(server, id)).events >= 52)
    await expectExitSoon(server)
    for (const stream of stalled) stream.cut()
  })

  test('a long poll does not delay the exit', async () => {
    const server = await startServer({ store: temporaryDatabase(), args: ['--drain-timeout', '100ms'] })
    const { id } = await startRun(server, 'hang')
    const started = await untilStatus(server, id, ['running'])
    const poll = call(server, 'GET', `/runs/${id}/events?format=json&wait=30000&after=${started.events - 1}`)
    const answered = poll.then(
      ({ status }) => status,
      () => 'gone',
    )
    await expectExitSoon(server)
    expect([200, 'gone']).toContain(await answered)
  })
})

async function expectExitSoon(server: ServerProcess): Promise<void> {
  const exited = server.terminate()
  let exit: Exit | undefined
  void exited.then((found) => (exit = found))
  await until('the server has ended', () => exit !== undefined, { withinMs: 180_000 })
  expect(await exited).toEqual(CLEAN)
}

interface Closing {
  readonly run: string
  readonly reason: string
  readonly cursor: number
}

/** The frame with the reason of the end and the cursor to resume from. */
function closingOf(stream: EventStream): Closing {
  const [, data] = /^event: stream\.closing\ndata: (.*)\n\n$/.exec(stream.asides.at(-1) ?? '') ?? []
  if (data === undefined) throw new Error(`the stream did not say why it closed: ${JSON.stringify(stream.asides)}`)
  return JSON.parse(data) as Closing
}

async function end(server: Target, id: string): Promise<Recorded[]> {
  await untilFinished(server, id, 30_000)
  return checkedEnd(id, await readLog(server, id))
}
