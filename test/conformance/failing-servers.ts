/** Helpers for tests of failing servers: runs that are written while something breaks. */
import { expect } from 'vitest'
import { systemClock } from '../../src/core/ports/clock.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { readRecords } from '../../src/testing/conformance/reading.ts'
import { newRun, type NewRunOptions, RunWriter } from '../../src/testing/fixtures.ts'
import type { TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

let runs = 0

/** An id that no other run of the file has. */
export const newRunId = (): string => `run_${++runs}`

export async function startRun(store: Store, options: NewRunOptions = {}): Promise<RunWriter> {
  const draft = newRun(newRunId(), new Date().toISOString(), {
    claim: { worker: 'worker-1', ttlMs: 600_000 },
    ...options,
  })
  const { stored } = await store.create(draft)
  const runWriter = new RunWriter(store, systemClock, stored, [draft.record])
  runWriter.start()
  await runWriter.flush()
  return runWriter
}

/** Runs that flush each event before the next. */
export async function writeUnderLoad(
  store: Store,
  count: number,
  rounds: number,
): Promise<{ runWriters: RunWriter[]; durable: () => number; done: Promise<unknown> }> {
  const runWriters = await Promise.all(Array.from({ length: count }, () => startRun(store)))
  let durable = 0
  const writing = runWriters.map(async (runWriter) => {
    for (let round = 0; round < rounds; round++) {
      runWriter.text(`${round} `)
      await runWriter.flush()
      durable++
    }
    runWriter.complete()
    await runWriter.flush()
  })
  const done = Promise.all(writing)
  done.catch(() => {}) // looked at by the test
  return { runWriters, durable: () => durable, done }
}

/** Appends an event at each tick of the event loop and flushes without waiting; resolves when all are durable. */
export async function flushEveryTick(runWriter: RunWriter, count: number): Promise<void> {
  let rounds = 0
  const flushes: Promise<void>[] = []
  await new Promise<void>((resolve) => {
    const tick = (): void => {
      runWriter.text(`${rounds} `)
      flushes.push(runWriter.flush())
      if (++rounds < count) setImmediate(tick)
      else resolve()
    }
    tick()
  })
  await Promise.all(flushes)
}

/** An append whose response is lost while another worker claims the run counts as written; the next one is refused. Returns the run's id. */
export async function expectFoundWritten(proxy: TcpProxy, cutOff: Store, other: Store): Promise<string> {
  const runWriter = await startRun(cutOff)
  proxy.loseAnswers()
  runWriter.text('mine, just before the takeover')
  const flushed = runWriter.flush()
  await until('the server has it', async () => (await other.get(runWriter.id))?.next === 3)
  await other.release(runWriter.id, runWriter.epoch)
  const claim = await other.claim(runWriter.id, 'worker-2', 600_000)
  expect(claim).toMatchObject({ epoch: 2, next: 3 })
  proxy.heal()
  proxy.cut()
  await flushed
  runWriter.text('too late')
  await expect(runWriter.flush()).rejects.toMatchObject({ code: 'fenced' })
  expect(await other.get(runWriter.id)).toMatchObject({ epoch: 2, next: 3 })
  return runWriter.id
}

/** A claim whose response is lost belongs to the worker that requested it. */
export async function expectClaimedOnce(proxy: TcpProxy, store: Store, other: Store): Promise<void> {
  const { stored } = await store.create(newRun(newRunId(), new Date().toISOString()))
  proxy.loseAnswers()
  const claiming = store.claim(stored.run.id, 'worker-1', 600_000)
  await until('the server has it', async () => (await other.get(stored.run.id))?.epoch === 1)
  proxy.heal()
  proxy.cut()
  expect(await claiming).toMatchObject({ epoch: 1, lease: { worker: 'worker-1' } })
  expect(await other.claim(stored.run.id, 'worker-2', 600_000)).toBeUndefined()
}

/** A worker writes while partitioned, loses its run to another, and is refused after the partition heals. */
export async function expectRefused(proxy: TcpProxy, cutOff: Store, other: Store): Promise<void> {
  const zombie = await startRun(cutOff, { claim: { worker: 'worker-1', ttlMs: 300 } })
  proxy.block()
  zombie.text('written by the dead')
  const refused = zombie.flush().catch((cause: unknown) => cause)
  const claim = await until('the lease is over', () => other.claim(zombie.id, 'worker-2', 600_000))
  const successor = new RunWriter(other, systemClock, claim, await readRecords(other, zombie.id))
  successor.text('I go on. ')
  await successor.flush()
  proxy.heal()
  proxy.cut()
  expect(await refused).toMatchObject({ code: 'fenced' })
  successor.complete()
  await successor.flush()
  expect(await readRecords(other, zombie.id)).toEqual(successor.records)
}
