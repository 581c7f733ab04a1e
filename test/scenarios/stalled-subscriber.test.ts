import { expect, test } from 'vitest'
import { agent } from '../../src/agents/agent.ts'
import { labComponents } from '../../src/agents/lab/kinds.ts'
import { assertSeenIsInLog, checkedEnd } from '../support/checker.ts'
import type { EventStream } from '../support/event-stream.ts'
import {
  answerRun,
  call,
  followRun,
  readLog,
  startRun,
  type Target,
  untilFinished,
  untilStatus,
} from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { heldMegabytes } from '../support/memory.ts'
import { until } from '../support/until.ts'

/** 24 MB, in events of 256 KiB. */
const LARGE = `sleep 200; ${Array.from({ length: 96 }, () => 'big 256').join('; ')}`
const LARGE_BYTES = 24_000_000
const STALLED = 8
/** Twice STALLED clients hold a slice each, of 256 KiB and an event at most: 8 MB. The output is three times as large. */
const BOUND_MB = 12
const STALL_MS = 2000
/** More than the kernel buffers between the two; some machines buffer 32 MiB per socket. */
const WORDY_BYTES = 48 * 1024 * 1024
/** So slow that 16 MB take twice as long as a subscriber may stall; in that time the buffers between the two are emptied once. */
const BYTES_PER_MS = 4000

test('[SUB-1] stalled subscribers use bounded memory, and a reader beside them gets everything', async () => {
  // On a busy machine the readers may take longer than the default timeout.
  const server = await serveInProcess({ limits: { subscriberStallTimeoutMs: 600_000 } })
  const { id: warmUp } = await startRun(server, LARGE)
  await readWhole(server, warmUp)
  const before = await heldMegabytes()

  const { id } = await startRun(server, LARGE)
  const live = await stall(server, id, STALLED)
  await readWhole(server, id)
  const replaying = await stall(server, id, STALLED)
  await readWhole(server, id)
  expect((await heldMegabytes()) - before, `MB for ${2 * STALLED} stalled subscribers`).toBeLessThan(BOUND_MB)
  // Nobody was cut to make room: the readers were through while all others stalled.
  expect(await subscribers(server)).toBe(2 * STALLED)
  for (const stream of [...live, ...replaying]) stream.cut()
}, 240_000)

test('[SUB-1] [SUB-2] a stalled subscriber is disconnected after the timeout, and resumes from its cursor', async () => {
  // Time passes only once the honest reader is through: on a busy machine it might be cut as well.
  const clock = new ManualClock()
  const server = await serveInProcess({ clock, limits: { subscriberStallTimeoutMs: STALL_MS } })
  const { id } = await startRun(server, `ask Go on?; ${Array.from({ length: 100 }, () => 'big 200').join('; ')}`)
  await untilStatus(server, id, ['paused'])
  const stalled = followRun(server, id, { stalled: true })
  expect(await stalled.status()).toBe(200)
  await answerRun(server, id, 'yes')
  const log = await readLog(server, id)
  checkedEnd(id, log)
  expect(await subscribers(server)).toBe(1)
  await until('the stalled subscriber is disconnected', async () => {
    await clock.pass(2 * STALL_MS)
    return (await subscribers(server)) === 0
  })

  await stalled.read()
  expect(await stalled.ended).toBe('broken')
  expect(stalled.log.length).toBeLessThan(log.length)
  assertSeenIsInLog(id, stalled.log, log)

  const cursor = stalled.events - 1
  const rest = followRun(server, id, { after: cursor })
  expect(await rest.ended).toBe('closed')
  assertSeenIsInLog(id, rest.log, log, cursor)
  expect(rest.events).toBe(checkedEnd(id, log).length - stalled.events)
})

test('[SUB-1] a subscriber that stalls at the last event is disconnected too', async () => {
  const wordy = agent({
    id: 'wordy',
    async *run() {
      yield 'short'
      return 'x'.repeat(WORDY_BYTES)
    },
  })
  const clock = new ManualClock()
  const limits = { subscriberStallTimeoutMs: STALL_MS, maxEventBytes: 2 * WORDY_BYTES }
  const server = await serveInProcess({ components: [wordy], clock, limits })
  const { id } = await startRun(server, '', { component: 'wordy' })
  await untilFinished(server, id)
  const stalled = followRun(server, id, { stalled: true })
  await stalled.answered
  // When the response begins, the last event is still being read from the store.
  await until('the last event is handed to the response', async () => (await subscribers(server)) === 0)
  // The kernel may take more of it for some turns, which is not a stall yet.
  await clock.pass(20 * STALL_MS)
  await stalled.read()
  expect(await stalled.ended).toBe('broken')
})

test('[SUB-1] a slow subscriber that keeps reading stays connected, however long one event takes', async () => {
  const clock = new ManualClock()
  const limits = { subscriberStallTimeoutMs: STALL_MS, maxEventBytes: 32 * 1024 * 1024 }
  const server = await serveInProcess({ components: labComponents(), clock, limits })
  const { id } = await startRun(server, 'big 16000')
  await untilFinished(server, id)
  const since = clock.elapsed()
  const slow = followRun(server, id)
  const response = await slow.answered
  response!.on('data', (piece: Buffer) => clock.advance(piece.length / BYTES_PER_MS))
  expect(await slow.ended).toBe('closed')
  expect(clock.elapsed() - since).toBeGreaterThan(1.5 * STALL_MS)
  expect(slow.log.equals(await readLog(server, id))).toBe(true)
})

/** Reads a large run to its end without keeping it. */
async function readWhole(server: Target, id: string): Promise<void> {
  const log = await readLog(server, id)
  expect(checkedEnd(id, log).at(-1)).toMatchObject({ type: 'run.completed' })
  expect(log.length).toBeGreaterThan(LARGE_BYTES)
}

async function stall(server: Target, id: string, count: number): Promise<EventStream[]> {
  const streams = Array.from({ length: count }, () => followRun(server, id, { stalled: true }))
  for (const stream of streams) expect(await stream.status()).toBe(200)
  return streams
}

async function subscribers(server: Target): Promise<unknown> {
  return (await call(server, 'GET', '/health')).body['subscribers']
}
