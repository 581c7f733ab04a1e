import { setTimeout as wait } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { READING_THREAD } from '../../src/stores/sqlite/reading/reading-thread-handle.ts'
import type { RunShape } from '../../src/protocols/native/wire/shapes.ts'
import { INSTALL_MS } from '../support/apt.ts'
import { assertSeenIsInLog, checkedEnd, numbersIn, standingTexts } from '../support/checker.ts'
import { blockReads, breakSyncs, ensureStrace, makeRoom, onSmallDisk, timesOpen } from '../support/disk-faults.ts'
import type { EventStream } from '../support/event-stream.ts'
import {
  answerRun,
  call,
  followRun,
  getRun,
  postRun,
  readLog,
  startRun,
  type Target,
  untilFinished,
  untilStatus,
} from '../support/http.ts'
import { ServerProcess, startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'

beforeAll(ensureStrace, INSTALL_MS)

const COMPONENTS = ['lab', 'lab-retry', 'lab-resume'] as const

/** A way to break the disk under a server, and to heal it. */
interface Breakage {
  readonly start: (store: string) => Promise<ServerProcess>
  /** Script of a run before and during the fault; it emits `texts` numbered texts. */
  readonly script: string
  readonly texts: number
  readonly break: (server: ServerProcess) => Promise<() => Promise<void>>
}

const breakages: Readonly<Record<string, Breakage>> = {
  'whose syncs fail': {
    start: (store) => startServer({ store }),
    script: 'text 500 every 6; step work; text 10',
    texts: 510,
    break: async ({ pid }) => (await breakSyncs(pid, { error: 'EIO' })).heal,
  },
  'that is full': {
    start: (store) => startServer({ store, wrap: onSmallDisk(2048) }),
    script: `text 20 every 5; ${Array.from({ length: 60 }, () => 'big 100; text 20 every 1').join('; ')}`,
    texts: 1220,
    break:
      async ({ pid }) =>
      () =>
        makeRoom(pid),
  },
}

describe.each(Object.entries(breakages))('[LOG-2] a server with a disk %s', (_name, breakage) => {
  test('shows only durable events, rejects writes, serves reads, and has everything after a restart on a good disk', async () => {
    const store = temporaryDatabase()
    const scene = await breakDisk(store, breakage)
    await expectRefusal(scene)
    await scene.server.kill()

    const again = await startServer({ store })
    for (const { id, component } of scene.runs) await expectHonestEnd(again, id, component, breakage)
    expect((await readLog(again, scene.early)).equals(scene.earlyLog)).toBe(true)
    for (const [place, { id }] of scene.runs.entries())
      assertSeenIsInLog(id, scene.streams[place]!.log, await readLog(again, id))
    expect(await call(again, 'GET', '/health')).toMatchObject({ status: 200 })
  })

  test('a server recovers when the disk does, and so do the streams that stayed open', async () => {
    const scene = await breakDisk(temporaryDatabase(), breakage)
    await scene.heal()
    const { server } = scene
    await until('health is green', async () => (await call(server, 'GET', '/health')).status === 200)
    for (const [place, { id, component }] of scene.runs.entries()) {
      await expectHonestEnd(server, id, component, breakage)
      expect(await scene.streams[place]!.ended).toBe('closed')
      expect(scene.streams[place]!.log.equals(await readLog(server, id))).toBe(true)
    }
    const { id } = await startRun(server, 'text 3')
    expect(await untilFinished(server, id)).toMatchObject({ status: 'completed' })
  })
})

describe('[LOG-2] SQLite: no command is acknowledged before it is durable', () => {
  test('a command whose sync fails gets 503', async () => {
    const store = temporaryDatabase()
    const server = await startServer({ store })
    const { id } = await startRun(server, 'text 1; hang', { component: 'lab-resume' })
    const paused = await startRun(server, 'ask Go on?')
    await until(
      'one run hangs and the other is paused',
      async () => (await getRun(server, id)).events === 3 && (await getRun(server, paused.id)).status === 'paused',
    )
    // The first commit is long on its way when the others ask.
    const fault = await breakSyncs(server.pid, { error: 'EIO', delayMs: 500 })
    const commands = [
      ...Array.from({ length: 5 }, () => call(server, 'POST', `/runs/${id}/stop`)),
      ...Array.from({ length: 5 }, () => postRun(server, 'text 1', { key: 'same' })),
      ...Array.from({ length: 5 }, () => postRun(server, 'text 1')),
      call(server, 'POST', `/runs/${paused.id}/answers`, { body: { answer: 'yes' } }),
    ]
    for (const answer of await Promise.all(commands)) {
      expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } })
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    await server.kill()
    await fault.heal()

    const again = await startServer({ store })
    expect((await call<{ runs: RunShape[] }>(again, 'GET', '/runs')).body.runs.length).toBeGreaterThanOrEqual(2)
    expect(await getRun(again, paused.id)).toMatchObject({ status: 'paused' })
  })

  test('a command whose sync is slow is acknowledged after it, and no event is visible before it', async () => {
    const server = await startServer({ store: temporaryDatabase() })
    const { id } = await startRun(server, 'ask Go on?; text 1; hang')
    const stopped = await startRun(server, 'hang')
    const stream = followRun(server, id)
    await untilStatus(server, id, ['paused'])
    const { events } = await getRun(server, id)
    await until('all so far is seen', () => stream.events === events)
    const delayMs = 1500
    const fault = await breakSyncs(server.pid, { delayMs })
    const since = performance.now()
    const elapsed = (): number => performance.now() - since
    const acknowledged = [
      answerRun(server, id, 'yes').then(elapsed),
      ...Array.from({ length: 3 }, () => postRun(server, 'text 1').then(elapsed)),
      ...Array.from({ length: 3 }, () => call(server, 'POST', `/runs/${stopped.id}/stop`).then(elapsed)),
    ]
    const seen = until('the answer is seen', () => stream.events > events && elapsed(), { everyMs: 5 })
    for (const elapsedMs of await Promise.all([seen, ...acknowledged])) expect(elapsedMs).toBeGreaterThan(delayMs)
    await fault.heal()
  })
})

describe('a server with a disk that stalls', () => {
  test('readiness fails, starts are rejected instead of hanging, and everything continues when the disk recovers', async () => {
    const server = await startServer({ store: temporaryDatabase() })
    const before = (await startRun(server, 'text 5')).id
    await untilFinished(server, before)
    const { id } = await startRun(server, 'text 400 every 5')
    const stream = followRun(server, id)
    await until('the run has said its first text', () => stream.events >= 3)
    const fault = await breakSyncs(server.pid, { delayMs: 120_000 })

    const waiting = postRun(server, 'text 3') // accepted before anybody knows of the stall
    const health = await until('health is red', async () => {
      const answer = await call<{ store: unknown }>(server, 'GET', '/health')
      return answer.status === 503 && answer
    })
    expect(health.body.store).toEqual({
      ok: false,
      reason: 'the store is unavailable',
    })
    for (const refused of [
      await waiting,
      await postRun(server, 'text 1'),
      await call(server, 'POST', `/runs/${id}/stop`),
    ]) {
      expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable', retryable: true } })
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    }

    await fault.heal()
    await until('health is green', async () => (await call(server, 'GET', '/health')).status === 200)
    await untilFinished(server, id, 30_000)
    assertSeenIsInLog(id, stream.log, await readLog(server, id))
    await untilFinished(server, (await startRun(server, 'text 3')).id)
    // The start that was refused was on its way to the disk, and so has become a run: it is not left alone.
    const { runs } = (await call<{ runs: RunShape[] }>(server, 'GET', '/runs')).body
    for (const run of runs) await untilFinished(server, run.id, 30_000)
  })
})

describe.each([
  { of: 'the store for a subscriber', thread: READING_THREAD },
  { of: 'the store at all', thread: undefined }, // nor those of a writer
])('a server with a disk that completes no read of $of', ({ thread }) => {
  test('health responds at once, readiness fails, work that needs no read continues, and everything recovers with the disk', async () => {
    const store = temporaryDatabase()
    const first = await startServer({ store })
    const finished = (await startRun(first, 'text 5')).id
    await untilFinished(first, finished)
    await first.terminate()
    const control = await startServer({ store: temporaryDatabase() }) // on the same machine, with a good disk
    await timedHealth(control) // the first request loads code
    const server = await startServer({ store }) // nothing of the finished run is in memory
    const { id } = await startRun(server, 'text 3000 every 10')
    const stream = followRun(server, id)
    await until('the run has said ten texts', () => stream.events >= 12)
    await until('the reading thread has the file open', async () => {
      await call(server, 'GET', '/runs')
      // Until then the committing thread reads, through a second connection of its own.
      return timesOpen(server.pid, store) > 2
    })
    const fault = await blockReads(server.pid, store, thread)
    const since = performance.now()
    const looked = timeOfLooks(RED_MS / 1000)

    const blocked = [
      call(server, 'GET', `/runs/${finished}`),
      call(server, 'GET', `/runs/${finished}/events`),
      call(server, 'GET', '/runs'),
      postRun(server, 'text 1', { key: 'while reads are blocked' }),
    ]
    let slowest = 0
    let slowestOfControl = 0
    const health = await until('health is red', async () => {
      const [answer, good] = await Promise.all([timedHealth(server), timedHealth(control)])
      slowest = Math.max(slowest, answer.ms)
      slowestOfControl = Math.max(slowestOfControl, good.ms)
      return answer.status === 503 && { ...answer, afterMs: performance.now() - since }
    })
    expect(health.body.store).toEqual({ ok: false, reason: 'the store is unavailable' })
    // An answer that waits for the read, or for the stall to be noticed, takes 4 s at least.
    expect(slowest, 'health was answered late').toBeLessThan(RED_MS / 2 + 5 * slowestOfControl)
    // The store looks every second. Looks that are late on this machine are late here, too; two answers may lie between.
    const bound = (await looked) + 500 + 2 * slowestOfControl
    expect(health.afterMs, 'health turned red late').toBeLessThan(bound)
    const { events } = stream
    if (thread !== undefined) await until('the live stream goes on', () => stream.events > events + 20)
    for (const refused of await Promise.all([...blocked, call(server, 'GET', `/runs/${finished}`)])) {
      expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable', retryable: true } })
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect(await getRun(server, id)).toMatchObject({ status: 'running' })

    await fault.heal()
    await until('health is green', async () => (await call(server, 'GET', '/health')).status === 200)
    expect(await getRun(server, finished)).toMatchObject({ status: 'completed' })
    expect((await readLog(server, finished)).length).toBeGreaterThan(0)
    await untilFinished(server, (await startRun(server, 'text 3', { key: 'while reads are blocked' })).id)
    await call(server, 'POST', `/runs/${id}/stop`)
    await untilFinished(server, id, 30_000)
    assertSeenIsInLog(id, stream.log, await readLog(server, id))
  })
})

/** Time within which a stalled disk must turn health red. */
const RED_MS = 5000

/** Duration of `looks` waits of one second in sequence. */
async function timeOfLooks(looks: number): Promise<number> {
  const since = performance.now()
  for (let look = 0; look < looks; look++) await wait(1000)
  return performance.now() - since
}

/** Fails if there is no response at all, as from an event loop that waits for the disk. */
async function timedHealth(
  target: Target,
): Promise<{ readonly status: number; readonly body: { store: unknown }; readonly ms: number }> {
  const since = performance.now()
  const response = await fetch(`${target.url}/health`, { signal: AbortSignal.timeout(30_000) })
  return { status: response.status, body: await response.json(), ms: performance.now() - since }
}

interface Scene {
  readonly server: ServerProcess
  readonly early: string
  readonly earlyLog: Buffer
  readonly runs: readonly { readonly id: string; readonly component: string }[]
  readonly streams: readonly EventStream[]
  readonly heal: () => Promise<void>
}

/** Runs under way, each with a subscriber, when the disk breaks. */
async function breakDisk(store: string, breakage: Breakage): Promise<Scene> {
  const server = await breakage.start(store)
  const early = (await startRun(server, 'text 5; step work')).id
  await untilFinished(server, early)
  const earlyLog = await readLog(server, early)
  const runs = await Promise.all(COMPONENTS.map((component) => startRun(server, breakage.script, { component })))
  const streams = runs.map(({ id }) => followRun(server, id))
  await until('all are under way', () => streams.every(({ events }) => events >= 12))
  const heal = await breakage.break(server)
  const health = await until('health is red', async () => {
    const answer = await call<{ store: unknown }>(server, 'GET', '/health')
    return answer.status === 503 && answer
  })
  expect(health.body.store).toEqual({ ok: false, reason: 'the store is unavailable' })
  return { server, early, earlyLog, runs, streams, heal }
}

async function expectRefusal({ server, early, earlyLog, runs, streams }: Scene): Promise<void> {
  const inLogs = async (): Promise<number[]> =>
    Promise.all(runs.map(async ({ id }) => (await getRun(server, id)).events))
  const seen = (): number[] => streams.map((stream) => stream.events)
  const events = await inLogs()
  await until(
    () => `the streams show ${events.join(', ')} events, and not ${seen().join(', ')}`,
    () => seen().every((count, place) => count === events[place]),
  )
  for (const answer of [await postRun(server, 'text 1'), await call(server, 'POST', `/runs/${runs[0]!.id}/stop`)]) {
    expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable', retryable: true } })
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  }
  expect((await readLog(server, early)).equals(earlyLog)).toBe(true)
  expect(await getRun(server, early)).toMatchObject({ status: 'completed' })
  expect((await call<{ runs: RunShape[] }>(server, 'GET', '/runs')).body.runs).toHaveLength(runs.length + 1)
  for (const { id } of runs) expect((await getRun(server, id)).status).toBe('running')
  expect(await inLogs()).toEqual(events)
  expect(seen()).toEqual(events)
}

/** Expected end: failed if no node may execute the run again, complete otherwise. */
async function expectHonestEnd(server: Target, id: string, component: string, { texts }: Breakage): Promise<void> {
  const { status, error } = await untilFinished(server, id, 30_000)
  const numbers = numbersIn(standingTexts(checkedEnd(id, await readLog(server, id))))
  const whole = Array.from({ length: texts }, (_, number) => number)
  const interrupted = { status: 'failed', code: 'interrupted', numbers: whole.slice(0, numbers.length) }
  const completed = { status: 'completed', code: undefined, numbers: whole }
  expect({ status, code: error?.code, numbers }).toEqual(component === 'lab' ? interrupted : completed)
}
