import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { agent } from '../../src/agents/generator.ts'
import { labComponents } from '../../src/agents/lab/kinds.ts'
import { assertSeenIsInLog, checkedEnd } from '../support/checker.ts'
import type { EventStream } from '../support/event-stream.ts'
import { call, followRun, readLog, startRun, type Target, untilFinished } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { heldMegabytes } from '../support/memory.ts'
import { until } from '../support/until.ts'

/** 60 MB, in events of 256 KiB. */
const LARGE = `sleep 200; ${Array.from({ length: 240 }, () => 'big 256').join('; ')}`
const STALLED = 20
/** Twice STALLED clients hold a slice each, of 256 KiB and an event at most: 20 MB. The output is three times as large. */
const BOUND_MB = 30

test('[SUB-1] stalled subscribers hold bounded memory, and a reader next to them gets everything while they stall', async () => {
  const server = await serveInProcess()
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

test('[SUB-1] [SUB-2] a stalled subscriber is cut after the bound, and comes back with its cursor for the exact rest', async () => {
  const server = await serveInProcess({ limits: { subscriberStallTimeoutMs: 300 } })
  const { id } = await startRun(server, `sleep 100; ${Array.from({ length: 100 }, () => 'big 200').join('; ')}`)
  const stalled = followRun(server, id, { stalled: true })
  const log = await readLog(server, id)
  checkedEnd(id, log)
  await until('the stalled subscriber is cut', async () => (await subscribers(server)) === 0)

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

test('[SUB-1] a subscriber that is stalled at the last event is cut as well', async () => {
  const wordy = agent({
    id: 'wordy',
    async *run() {
      yield 'short'
      return 'long '.repeat(1_600_000)
    },
  })
  const limits = { subscriberStallTimeoutMs: 200, eventBytesMax: 16 * 1024 * 1024 }
  const server = await serveInProcess({ components: [wordy], limits })
  const { id } = await startRun(server, '', { component: 'wordy' })
  await untilFinished(server, id)
  const stalled = followRun(server, id, { stalled: true })
  await stalled.answered
  await wait(1200)
  await stalled.read()
  expect(await stalled.ended).toBe('broken')
})

test('[SUB-1] a slow subscriber that keeps reading is not cut, however long one event takes it', async () => {
  const limits = { subscriberStallTimeoutMs: 2500, eventBytesMax: 32 * 1024 * 1024 }
  const server = await serveInProcess({ components: labComponents(), limits })
  const { id } = await startRun(server, 'big 16000')
  await untilFinished(server, id)
  const slow = followRun(server, id, { restMs: 20 })
  expect(await slow.ended).toBe('closed')
  expect(slow.log.equals(await readLog(server, id))).toBe(true)
})

/** Reads a large run to its end, and keeps nothing of it. */
async function readWhole(server: Target, id: string): Promise<void> {
  const log = await readLog(server, id)
  expect(checkedEnd(id, log).at(-1)).toMatchObject({ type: 'run.completed' })
  expect(log.length).toBeGreaterThan(60_000_000)
}

async function stall(server: Target, id: string, count: number): Promise<EventStream[]> {
  const streams = Array.from({ length: count }, () => followRun(server, id, { stalled: true }))
  for (const stream of streams) expect(await stream.status()).toBe(200)
  return streams
}

async function subscribers(server: Target): Promise<unknown> {
  return (await call(server, 'GET', '/health')).body['subscribers']
}
