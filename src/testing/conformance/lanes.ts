/** Lanes: runs of one lane execute one at a time, oldest first. */
import { expect } from 'vitest'
import { isFinished } from '../../core/model/run.ts'
import { RunWriter } from '../fixtures.ts'
import { readRecords } from './reading.ts'
import type { ConformanceSection } from './target.ts'
import { TTL_MS, type Trial } from './trial.ts'

const LANE = { lane: 'lane-1' }

export const lanesSection: ConformanceSection = {
  name: 'lanes',
  cases: [
    { name: 'only the oldest unfinished run of a lane can be claimed', run: claimsOldestOnly },
    { name: 'a lane executes in order, one run at a time', run: executesInOrder },
    { name: 'runs of other lanes or without a lane do not wait', run: keepsLanesApart },
    { name: 'a paused run keeps its lane busy', run: pausedKeepsLane },
    { name: 'a run with a released or expired lease keeps its lane busy', run: unheldKeepsLane },
    { name: 'a run is created unclaimed if its lane is busy', run: createsUnclaimed },
    { name: 'a run with an older date does not overtake the executing one', run: neverExecutesTwo },
    { name: 'a run is claimed out of order only on request, and its lane continues in order', run: takesOutOfOrder },
    { name: 'a busy lane refuses a run with rejectIfBusy', run: refusesBusy },
    { name: 'of 20 concurrent creates with rejectIfBusy, one succeeds', run: createsOnce },
    { name: 'of concurrent claims of all runs in a lane, one succeeds', run: claimsOnce },
  ],
}

async function createInLane(trial: Trial, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let index = 0; index < count; index++) {
    trial.clock.advance(1)
    ids.push((await trial.create(LANE)).run.id)
  }
  return ids
}

async function claimsOldestOnly(trial: Trial): Promise<void> {
  const [first, second, third] = (await createInLane(trial, 3)) as [string, string, string]
  expect(await trial.store.claimable(10)).toEqual([first])
  for (const id of [third, second]) expect(await trial.store.claim(id, 'worker-1', TTL_MS)).toBeUndefined()
  expect(await trial.store.claim(first, 'worker-1', TTL_MS)).toBeDefined()
  for (const id of [third, second]) expect(await trial.store.claim(id, 'worker-1', TTL_MS)).toBeUndefined()
  expect(await trial.store.claimable(10)).toEqual([])
  expect(await trial.store.get(second)).toMatchObject({ epoch: 0 })
}

async function executesInOrder(trial: Trial): Promise<void> {
  const ids = await createInLane(trial, 4)
  for (const id of ids) {
    expect(await trial.store.claimable(10)).toEqual([id])
    const runWriter = await trial.takeOver(id)
    runWriter.start()
    await runWriter.flush()
    expect(await trial.store.claimable(10)).toEqual([])
    runWriter.complete()
    await runWriter.flush()
  }
  expect(await trial.store.claimable(10)).toEqual([])
}

async function keepsLanesApart(trial: Trial): Promise<void> {
  await trial.start(LANE)
  const other = await trial.create({ lane: 'lane-2' })
  const free = [await trial.create(), await trial.create()]
  const ids = [other, ...free].map((stored) => stored.run.id)
  expect(await trial.store.claimable(10)).toEqual(ids)
  for (const id of ids) expect(await trial.store.claim(id, 'worker-2', TTL_MS)).toBeDefined()
}

async function pausedKeepsLane(trial: Trial): Promise<void> {
  const runWriter = await trial.start(LANE)
  const [waiting] = (await createInLane(trial, 1)) as [string]
  runWriter.pause()
  await runWriter.flush()
  expect(await trial.store.claimable(10)).toEqual([])
  expect(await trial.store.claim(waiting, 'worker-2', TTL_MS, { paused: true })).toBeUndefined()
  const successor = await trial.takeOver(runWriter.id, 'worker-2', { paused: true })
  successor.cancel()
  await successor.flush()
  expect(await trial.store.claimable(10)).toEqual([waiting])
}

async function unheldKeepsLane(trial: Trial): Promise<void> {
  const runWriter = await trial.start(LANE)
  const [waiting] = (await createInLane(trial, 1)) as [string]
  await trial.store.release(runWriter.id, runWriter.epoch)
  expect(await trial.store.claimable(10)).toEqual([runWriter.id])
  expect(await trial.store.claim(waiting, 'worker-2', TTL_MS)).toBeUndefined()
  await trial.takeOver(runWriter.id)
  trial.expireLeases()
  expect(await trial.store.claimable(10)).toEqual([runWriter.id])
  expect(await trial.store.claim(waiting, 'worker-2', TTL_MS)).toBeUndefined()
}

async function createsUnclaimed(trial: Trial): Promise<void> {
  const first = await trial.start(LANE)
  const claim = { worker: 'worker-2', ttlMs: TTL_MS }
  const created = await trial.store.create(trial.newRun({ ...LANE, claim }))
  expect(created).toMatchObject({ kind: 'created', stored: { epoch: 0, next: 1 } })
  expect(created.stored.lease).toBeUndefined()
  expect(await trial.store.renew('worker-2', TTL_MS)).toEqual([])
  first.complete()
  await first.flush()
  const after = await trial.store.create(trial.newRun({ ...LANE, claim }))
  expect(after.stored.lease, 'the run before it is still unfinished').toBeUndefined()
  expect(await trial.store.claimable(10)).toEqual([created.stored.run.id])
}

async function neverExecutesTwo(trial: Trial): Promise<void> {
  const executing = await trial.start(LANE)
  // As if from a node whose clock is behind.
  const late = await trial.create({ ...LANE, createdAt: '2020-01-01T00:00:00.000Z' })
  expect(await trial.store.claim(late.run.id, 'worker-2', TTL_MS)).toBeUndefined()
  expect(await trial.store.claimable(10)).toEqual([])
  executing.complete()
  await executing.flush()
  expect(await trial.store.claim(late.run.id, 'worker-2', TTL_MS)).toBeDefined()
}

async function takesOutOfOrder(trial: Trial): Promise<void> {
  const executing = await trial.start(LANE)
  const [second, third] = (await createInLane(trial, 2)) as [string, string]
  expect(await trial.store.claim(executing.id, 'worker-2', TTL_MS, { outOfOrder: true }), 'it is held').toBeUndefined()
  const claim = await trial.store.claim(second, 'worker-2', TTL_MS, { outOfOrder: true })
  expect(claim).toMatchObject({ epoch: 1, lease: { worker: 'worker-2' } })
  expect(await trial.store.claim(second, 'worker-3', TTL_MS, { outOfOrder: true })).toBeUndefined()
  const ending = new RunWriter(trial.store, trial.clock, claim!, await readRecords(trial.store, second))
  ending.cancel()
  await ending.flush()
  expect(await trial.store.claim(third, 'worker-2', TTL_MS), 'the lane is still busy').toBeUndefined()
  executing.complete()
  await executing.flush()
  expect(await trial.store.claimable(10)).toEqual([third])
}

async function refusesBusy(trial: Trial): Promise<void> {
  const options = { ...LANE, rejectIfBusy: true }
  const first = await trial.start(options)
  const answers = [
    await trial.store.create(trial.newRun(options)),
    await trial.store.create(trial.newRun({ ...options, owner: 'owner-2' })),
  ]
  for (const answer of answers) expect(answer).toMatchObject({ kind: 'busy', stored: { run: { id: first.id } } })
  expect((await trial.store.list({ limit: 10 })).runs).toHaveLength(1)
  first.pause()
  await first.flush()
  expect((await trial.store.create(trial.newRun(options))).kind).toBe('busy')
  const successor = await trial.takeOver(first.id, 'worker-2', { paused: true })
  successor.cancel()
  await successor.flush()
  expect((await trial.store.create(trial.newRun(options))).kind).toBe('created')
}

async function createsOnce(trial: Trial): Promise<void> {
  const drafts = Array.from({ length: 20 }, () => trial.newRun({ ...LANE, rejectIfBusy: true }))
  const answers = await Promise.all(drafts.map((draft) => trial.store.create(draft)))
  const created = answers.filter((answer) => answer.kind === 'created')
  expect(created).toHaveLength(1)
  for (const { kind, stored } of answers) {
    if (kind !== 'created') expect(kind).toBe('busy')
    expect(stored.run.id).toBe(created[0]?.stored.run.id)
    expect(isFinished(stored.run.status)).toBe(false)
  }
}

async function claimsOnce(trial: Trial): Promise<void> {
  const ids = await createInLane(trial, 10)
  const answers = await Promise.all(ids.toReversed().map((id) => trial.store.claim(id, 'worker-1', TTL_MS)))
  const given = answers.filter((answer) => answer !== undefined).map((answer) => answer.run.id)
  expect(given).toEqual([ids[0]])
}
