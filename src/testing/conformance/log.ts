/** Writing logs: order, fencing, the terminal event. */
import { expect } from 'vitest'
import { terminalStatuses, type Run } from '../../core/model/run.ts'
import type { LogWriter } from '../../core/ports/store.ts'
import { recordOf, RunWriter } from '../fixtures.ts'
import { expectLog, readBytes, readPages, refusalOf } from './reading.ts'
import type { ConformanceSection } from './target.ts'
import { TTL_MS, type Trial } from './trial.ts'

export const logSection: ConformanceSection = {
  name: 'log',
  cases: [
    { name: '[LOG-1] records are numbered from 0 without gaps and returned in order', run: keepsOrder },
    { name: '[LOG-1] concurrent writers do not mix their logs', run: keepsLogsApart },
    { name: '[LOG-1] a batch at a used index is refused as a whole', run: refusesTakenIndex },
    { name: '[LOG-1] a batch that would leave a gap is refused', run: refusesHole },
    { name: '[LOG-4] an append with an older epoch is refused as a whole', run: refusesOldEpoch },
    { name: '[LOG-4] an append with an unknown epoch is refused', run: refusesUnknownEpoch },
    { name: '[LOG-4] a writer that was refused once stays refused', run: staysRefused },
    { name: '[LOG-3] an append after the terminal event is refused', run: refusesAfterTerminal },
    { name: '[LOG-3] an append after the terminal event in the same batch is refused', run: refusesBehindTerminal },
    { name: '[LOG-3] of two writers that end a run, one is refused', run: refusesSecondTerminal },
    { name: 'a writer of a run that does not exist is refused', run: refusesUnknownRun },
    { name: 'a writer counts pending records, and none after flush', run: countsPending },
    { name: 'a change of a run becomes visible with its record', run: changesWithRecord },
  ],
}

async function keepsOrder(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  for (let batch = 0; batch < 10; batch++) {
    for (let index = 0; index < batch; index++) runWriter.text(`${batch}.${index} `)
    await runWriter.flush()
  }
  await expectLog(trial.store, runWriter.id, runWriter.records)
  const stored = await trial.store.get(runWriter.id)
  expect(stored).toMatchObject({ first: 0, next: 47 })
  expect(runWriter.writer.next).toBe(47)
}

async function keepsLogsApart(trial: Trial): Promise<void> {
  const runWriters = await Promise.all(Array.from({ length: 20 }, () => trial.start()))
  for (let round = 0; round < 10; round++) {
    for (const runWriter of runWriters) runWriter.text(`${runWriter.id} says ${round}. `)
    await Promise.all(runWriters.filter((_, index) => index % 3 === round % 3).map((runWriter) => runWriter.flush()))
  }
  await Promise.all(runWriters.map((runWriter) => runWriter.flush()))
  for (const runWriter of runWriters) await expectLog(trial.store, runWriter.id, runWriter.records)
}

async function refusesTakenIndex(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  const claim = (await trial.store.get(runWriter.id))!
  const twin = new RunWriter(trial.store, trial.clock, claim, runWriter.records)
  runWriter.text('first')
  await runWriter.flush()
  // Its second record has the next index, and must not be accepted after the refused one.
  const refusal = await refusalOf(async () => {
    twin.text('also first')
    twin.text('second')
    await twin.flush()
  })
  expect(refusal).toBe('fenced')
  expect(await refusalOf(() => twin.flush())).toBe('fenced')
  await expectLog(trial.store, runWriter.id, runWriter.records)
  runWriter.text('second')
  await runWriter.flush()
  await expectLog(trial.store, runWriter.id, runWriter.records)
}

async function refusesHole(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  const ahead = trial.store.writer(runWriter.id, { epoch: runWriter.epoch, next: 3 })
  expect(await refusalOf(() => appendText(ahead, runWriter.id))).toBe('fenced')
  await expectLog(trial.store, runWriter.id, runWriter.records)
}

async function refusesOldEpoch(trial: Trial): Promise<void> {
  const zombie = await trial.start()
  trial.expireLeases()
  const successor = await trial.takeOver(zombie.id)
  expect(successor.epoch).toBeGreaterThan(zombie.epoch)
  const refusal = await refusalOf(async () => {
    zombie.text('late ')
    zombie.text('again')
    await zombie.flush()
  })
  expect(refusal).toBe('fenced')
  await expectLog(trial.store, successor.id, successor.records)
  successor.text('mine')
  await successor.flush()
  await expectLog(trial.store, successor.id, successor.records)
}

async function refusesUnknownEpoch(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  const forger = trial.store.writer(runWriter.id, { epoch: runWriter.epoch + 1, next: 2 })
  expect(await refusalOf(() => appendText(forger, runWriter.id))).toBe('fenced')
  const waiting = await trial.create()
  const early = trial.store.writer(waiting.run.id, { epoch: 1, next: 1 })
  expect(await refusalOf(() => appendText(early, waiting.run.id))).toBe('fenced')
  await expectLog(trial.store, runWriter.id, runWriter.records)
}

async function staysRefused(trial: Trial): Promise<void> {
  const zombie = await trial.start()
  trial.expireLeases()
  const successor = await trial.takeOver(zombie.id)
  const insist = (): Promise<void> => appendText(zombie.writer, zombie.id)
  expect(await refusalOf(insist)).toBe('fenced')
  expect(await refusalOf(insist)).toBe('fenced')
  expect(await refusalOf(() => zombie.flush())).toBe('fenced')
  await expectLog(trial.store, successor.id, successor.records)
}

async function refusesAfterTerminal(trial: Trial): Promise<void> {
  for (const status of terminalStatuses) {
    const runWriter = await trial.start()
    end(runWriter, status)
    await runWriter.flush()
    const closed = await readBytes(trial.store, runWriter.id)
    expect((await readPages(trial.store, runWriter.id)).at(-1)?.closed).toBe(true)
    expect(await refusalOf(() => appendText(runWriter.writer, runWriter.id)), `after ${status}`).toBe('closed')
    const { epoch, next } = (await trial.store.get(runWriter.id))!
    const another = trial.store.writer(runWriter.id, { epoch, next })
    expect(await refusalOf(() => appendText(another, runWriter.id)), `after ${status}`).toBe('closed')
    expect((await readBytes(trial.store, runWriter.id)).equals(closed), `after ${status}`).toBe(true)
    expect((await trial.store.get(runWriter.id))?.run.status).toBe(status)
  }
}

async function refusesBehindTerminal(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  end(runWriter, 'completed')
  expect(await refusalOf(() => appendText(runWriter.writer, runWriter.id))).toBe('closed')
  await refusalOf(() => runWriter.flush())
  // Whether the terminal event was written may depend on the store; nothing may ever follow it.
  const text = (await readBytes(trial.store, runWriter.id)).toString()
  expect(text).not.toContain('too late')
  expect(text.match(/event: run\.completed/g)?.length ?? 0).toBeLessThanOrEqual(1)
}

async function refusesSecondTerminal(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  const claim = (await trial.store.get(runWriter.id))!
  const writers = (['completed', 'failed', 'cancelled', 'rejected'] as const).map((status) => {
    return { status, runWriter: new RunWriter(trial.store, trial.clock, claim, runWriter.records) }
  })
  const attempts = writers.map(({ status, runWriter: writer }) =>
    refusalOf(() => {
      end(writer, status)
      return writer.flush()
    }),
  )
  const refusals = await Promise.all(attempts)
  const winners = writers.filter((_, index) => refusals[index] === undefined).map((writer) => writer.runWriter)
  expect(winners).toHaveLength(1)
  for (const refusal of refusals) expect([undefined, 'closed', 'fenced']).toContain(refusal)
  await expectLog(trial.store, runWriter.id, winners[0]!.records)
  expect((await trial.store.get(runWriter.id))?.run).toEqual(winners[0]!.run)
}

async function refusesUnknownRun(trial: Trial): Promise<void> {
  const writer = trial.store.writer('run_nobody', { epoch: 1, next: 0 })
  expect(await refusalOf(() => appendText(writer, 'run_nobody'))).toBeDefined()
  expect(await trial.store.get('run_nobody')).toBeUndefined()
}

async function countsPending(trial: Trial): Promise<void> {
  const { writer, id } = await trial.start()
  expect([writer.next, writer.pending, writer.pendingChars]).toEqual([2, 0, 0])
  const record = recordOf(id, 2, trial.clock.iso(), { type: 'text.delta', data: { text: 'hello' } })
  writer.append(record)
  expect(writer.next).toBe(3)
  expect(writer.pending).toBeLessThanOrEqual(1)
  expect(writer.pendingChars).toBe(writer.pending * record.length)
  await writer.flush()
  expect([writer.next, writer.pending, writer.pendingChars]).toEqual([3, 0, 0])
  await writer.flush()
}

async function changesWithRecord(trial: Trial): Promise<void> {
  const draft = trial.newRun({ metadata: { 'naïve key': [1, null, { deep: '🙂' }] }, protocol: 'native', lane: 'lane' })
  const { stored } = await trial.store.create({ ...draft, claim: { worker: 'worker-1', ttlMs: TTL_MS } })
  const runWriter = new RunWriter(trial.store, trial.clock, stored, [draft.record])
  const before = (await trial.store.get(runWriter.id))!
  const steps: readonly (() => void)[] = [
    () => runWriter.start(),
    () => runWriter.pause(),
    () => runWriter.append({ type: 'run.failed', data: { error: { code: 'agent_failed', message: 'no "luck"\n' } } }),
  ]
  for (const step of steps) {
    trial.clock.advance(1000)
    step()
    await runWriter.flush()
    const now = (await trial.store.get(runWriter.id))!
    expect(now.run).toEqual(runWriter.run)
    expect(now.next).toBe(runWriter.records.length)
  }
  expect(before).toMatchObject({ run: { status: 'queued' }, next: 1 })
}

function appendText(writer: LogWriter, id: string): Promise<void> {
  writer.append(
    recordOf(id, writer.next, '2026-01-01T00:00:00.000Z', { type: 'text.delta', data: { text: 'too late' } }),
  )
  return writer.flush()
}

function end(runWriter: RunWriter, status: Run['status']): void {
  if (status === 'completed') runWriter.complete()
  else if (status === 'cancelled') runWriter.cancel()
  else if (status === 'rejected') runWriter.append({ type: 'run.rejected', data: { reason: 'not today' } })
  else runWriter.append({ type: 'run.failed', data: { error: { code: 'agent_failed', message: 'out of ideas' } } })
}
