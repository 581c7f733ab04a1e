/** Hints: they arrive, may be lost, and never announce more than the log has. */
import { expect } from 'vitest'
import { isFinished } from '../../core/model/run.ts'
import type { Hint } from '../../core/ports/store.ts'
import { expectLog, expectSameBytes, lookUntil, readBytes } from './reading.ts'
import type { ConformanceSection } from './target.ts'
import type { Trial } from './trial.ts'

export const signalsSection: ConformanceSection = {
  name: 'signals',
  cases: [
    { name: 'an append is hinted to watchers of the run and of all runs', run: hintsAppends },
    { name: 'a watcher gets no hints of other runs, and none after unsubscribing', run: keepsWatchersApart },
    { name: '[LOG-5] the records in a hint equal those in the log', run: carriesTheLog },
    { name: '[LOG-2] a hint never announces a record that cannot be read', run: announcesOnlyReadable },
    { name: '[LOG-2] a run never shows a change whose record cannot be read', run: showsOnlyReadable },
    { name: 'a lost hint loses no event', run: losesNothing },
    { name: '[RUN-2] a stop request is hinted', run: hintsStop },
    { name: 'a run that becomes claimable is hinted', run: hintsClaimable },
  ],
}

async function hintsAppends(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  const own = trial.hints(runWriter.id)
  const all = trial.hints('*')
  for (let round = 0; round < 3; round++) {
    runWriter.text(`${round} `)
    await runWriter.flush()
    for (const hints of [own, all]) await trial.eventually(() => expect(heardOf(hints, runWriter.id)).toBe(round + 3))
  }
  runWriter.complete()
  await runWriter.flush()
  for (const hints of [own, all]) await trial.eventually(() => expect(heardOf(hints, runWriter.id)).toBe(6))
  const created = await trial.create()
  await trial.eventually(() => expect(heardOf(all, created.run.id)).toBe(1))
}

async function keepsWatchersApart(trial: Trial): Promise<void> {
  const [watched, other] = [await trial.start(), await trial.start()]
  const heard: Hint[] = []
  const listener = (hint: Hint): void => void heard.push(hint)
  const leave = trial.store.watch(watched.id, listener)
  const leaveTwin = trial.store.watch(watched.id, listener)
  const all = trial.hints('*')
  other.text('not for you')
  await other.flush()
  await trial.eventually(() => expect(heardOf(all, other.id)).toBe(3))
  watched.text('for you')
  await watched.flush()
  await trial.eventually(() => expect(heardOf(heard, watched.id)).toBe(3))
  leave()
  leave()
  watched.text('for your twin')
  await watched.flush()
  await trial.eventually(() => expect(heardOf(heard, watched.id)).toBe(4))
  leaveTwin()
  const count = heard.length
  watched.text('for nobody')
  await watched.flush()
  await trial.eventually(() => expect(heardOf(all, watched.id)).toBe(5))
  expect(heard).toHaveLength(count)
  expect(heard.every((hint) => hint.run === watched.id)).toBe(true)
}

async function carriesTheLog(trial: Trial): Promise<void> {
  const hints = trial.hints('*')
  const runWriters = [await trial.start(), await trial.start()]
  for (let round = 0; round < 20; round++) {
    for (const runWriter of runWriters)
      for (let index = 0; index <= round % 3; index++) runWriter.text(`wave ${round} 🌊 `)
    if (round % 4 === 0) await Promise.all(runWriters.map((runWriter) => runWriter.flush()))
  }
  for (const runWriter of runWriters) runWriter.complete()
  await Promise.all(runWriters.map((runWriter) => runWriter.flush()))
  for (const { id, records } of runWriters) {
    await trial.eventually(() => expect(heardOf(hints, id)).toBe(records.length))
    for (const { slice, next } of hints.filter((hint) => hint.run === id)) {
      expect(next).toBeLessThanOrEqual(records.length)
      if (slice === undefined) continue
      const end = slice.first + slice.count
      expect(end).toBeLessThanOrEqual(next)
      expectSameBytes(slice.bytes, records.slice(slice.first, end))
      expect(slice.closed).toBe(end === records.length)
    }
  }
}

async function announcesOnlyReadable(trial: Trial): Promise<void> {
  const { store } = trial
  const checks: Promise<void>[] = []
  store.watch('*', ({ run, next, slice }) => {
    const check = async (): Promise<void> => {
      const last = await store.read(run, next - 2, 1)
      expect(last, `record ${next - 1} was announced`).toMatchObject({ first: next - 1 })
      if (slice === undefined) return
      const bytes = await readBytes(store, run, { after: slice.first - 1 })
      expect(bytes.subarray(0, slice.bytes.length).equals(slice.bytes)).toBe(true)
    }
    // Checked within the hint: it must hold at that moment. The result is awaited below.
    const checking = check()
    checking.catch(() => {}) // awaited below
    checks.push(checking)
  })
  const runWriters = [await trial.start(), await trial.start()]
  for (let round = 0; round < 30; round++) {
    for (const runWriter of runWriters) runWriter.text('quick '.repeat(round))
    if (round % 5 === 0) await runWriters[round % 2]!.flush()
  }
  for (const runWriter of runWriters) runWriter.complete()
  await Promise.all(runWriters.map((runWriter) => runWriter.flush()))
  await trial.eventually(() => expect(checks.length).toBeGreaterThan(0))
  await Promise.all(checks)
}

async function showsOnlyReadable(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  for (let index = 0; index < 50; index++) runWriter.text('z'.repeat(1000))
  runWriter.complete()
  const look = async (): Promise<void> => {
    const stored = (await trial.store.get(runWriter.id))!
    if (stored.next > 2) expect((await trial.store.read(runWriter.id, stored.next - 2, 1))?.first).toBe(stored.next - 1)
    if (!isFinished(stored.run.status)) return
    expect(stored.next).toBe(runWriter.records.length)
    expect((await trial.store.read(runWriter.id, stored.next - 2, 1))?.closed).toBe(true)
  }
  await lookUntil(runWriter.flush(), look)
  await expectLog(trial.store, runWriter.id, runWriter.records)
}

async function losesNothing(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  for (let round = 0; round < 10; round++) {
    // Written while nobody watches, so later watchers get no hint of it.
    runWriter.text(`unheard ${round} `)
    await runWriter.flush()
    const leave = trial.store.watch(runWriter.id, () => {})
    await expectLog(trial.store, runWriter.id, runWriter.records)
    leave()
  }
}

async function hintsStop(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  const own = trial.hints(runWriter.id)
  const all = trial.hints('*')
  await trial.store.requestStop(runWriter.id, { at: trial.clock.iso(), by: 'anna' })
  for (const hints of [own, all]) {
    await trial.eventually(() => expect(hints.map(({ run, stop }) => stop && run)).toContain(runWriter.id))
  }
}

async function hintsClaimable(trial: Trial): Promise<void> {
  const all = trial.hints('*')
  const hinted = async (id: string): Promise<void> => {
    await trial.eventually(() => expect(all.map(({ run, claimable }) => claimable && run)).toContain(id))
    all.length = 0
  }
  const runWriter = await trial.start({ lane: 'lane-1' })
  const waiting = await trial.create({ lane: 'lane-1' })
  await hinted((await trial.create()).run.id)
  runWriter.complete()
  await runWriter.flush()
  await hinted(waiting.run.id)
  const claim = (await trial.store.claim(waiting.run.id, 'worker-2', 1000))!
  await trial.store.release(waiting.run.id, claim.epoch)
  await hinted(waiting.run.id)
}

/** The highest index announced for a run. Hints may be late, so the last one need not be the highest. */
function heardOf(hints: readonly Hint[], run: string): number {
  return Math.max(0, ...hints.filter((hint) => hint.run === run).map((hint) => hint.next))
}
