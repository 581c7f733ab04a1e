/** Leases and stop requests: one worker at a time, by the injected clock, fenced by epochs. */
import { expect } from 'vitest'
import { isFinished } from '../../core/model/run.ts'
import { recordOf, RunWriter } from '../fixtures.ts'
import { expectLog, readBytes, refusalOf } from './reading.ts'
import type { ConformanceSection } from './target.ts'
import { TTL_MS, type Trial } from './trial.ts'

export const leasesSection: ConformanceSection = {
  name: 'leases',
  cases: [
    { name: 'a claim leases the run to one worker until it expires', run: claims },
    { name: '[LOG-4] of 20 concurrent claims, one succeeds', run: claimsOnce },
    { name: '[LOG-4] an expired lease can be taken over, which raises the epoch', run: expires },
    { name: "[LOG-4] not one record of a zombie's is readable after the takeover", run: refusesZombie },
    {
      name: '[LOG-4] records not flushed at the takeover are written before it or never',
      run: settlesPending,
    },
    { name: '[RUN-1] a refused append is reported even if nobody awaits it', run: tellsRefusal },
    { name: 'a released run can be claimed at once', run: releases },
    { name: 'only the holder can release', run: releasesOnlyOwn },
    { name: 'renewing extends all leases of a worker and of no other', run: renews },
    {
      name: 'renewing returns the epoch, log length and stop request of each lease',
      run: renewsWithFacts,
    },
    { name: 'renewing does not restore a lease that was taken over', run: renewsOnlyHeld },
    { name: 'renewing restores an expired lease that nobody took over', run: renewsLate },
    { name: 'a paused run has no lease and is claimed only on request', run: pauses },
    { name: 'a run that is resumed and paused in one batch has no lease', run: pausesAgain },
    { name: 'a paused run can be claimed once its question is overdue', run: wakes },
    {
      name: '[LOG-4] the last claim may append until the next one, though its lease is over',
      run: appendsUntilNextClaim,
    },
    { name: 'a finished run has no lease and is never claimed', run: finishes },
    { name: 'claimable lists exactly what claim accepts', run: listsClaimable },
    { name: 'claimable lists only runs of the requested components', run: listsClaimableOf },
    {
      name: '[RUN-2] claimable lists runs with a stop request, regardless of components',
      run: listsStoppedOfAny,
    },
    { name: 'an expired lease is not claimed without takeover', run: leavesLeased },
    { name: 'a component is unserved while no live worker serves it', run: tellsUnserved },
    { name: '[RUN-2] the first stop request wins', run: keepsFirstStop },
    {
      name: '[RUN-2] a run with a stop request can be claimed even if paused or out of order',
      run: claimsToStop,
    },
    { name: '[RUN-2] a stop request does not change a finished run', run: leavesFinished },
    { name: 'queued runs are counted', run: countsQueued },
  ],
}

async function claims(trial: Trial): Promise<void> {
  const { run } = await trial.create()
  const claim = (await trial.store.claim(run.id, 'worker-1', TTL_MS))!
  const lease = { worker: 'worker-1', until: trial.clock.now() + TTL_MS }
  expect(claim).toEqual({ run, first: 0, next: 1, epoch: 1, lease })
  expect(await trial.store.get(run.id)).toEqual(claim)
  trial.clock.advance(TTL_MS - 1)
  for (const worker of ['worker-1', 'worker-2']) expect(await trial.store.claim(run.id, worker, TTL_MS)).toBeUndefined()
  expect(await trial.store.get(run.id)).toEqual(claim)
}

async function claimsOnce(trial: Trial): Promise<void> {
  const { run } = await trial.create()
  for (let round = 1; round <= 3; round++) {
    const workers = Array.from({ length: 20 }, (_, index) => `worker-${index}`)
    const answers = await Promise.all(workers.map((worker) => trial.store.claim(run.id, worker, TTL_MS)))
    const given = answers.filter((answer) => answer !== undefined)
    expect(given).toHaveLength(1)
    expect(given[0]?.epoch).toBe(round)
    trial.expireLeases()
  }
}

async function expires(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  runWriter.text('half a story')
  await runWriter.flush()
  trial.clock.advance(TTL_MS - 1)
  expect(await trial.store.claimable(10)).toEqual([])
  trial.clock.advance(2)
  expect(await trial.store.claimable(10)).toEqual([runWriter.id])
  const claim = (await trial.store.claim(runWriter.id, 'worker-2', TTL_MS))!
  const lease = { worker: 'worker-2', until: trial.clock.now() + TTL_MS }
  expect(claim).toEqual({ run: runWriter.run, first: 0, next: 3, epoch: 2, lease })
  expect(await trial.store.claimable(10)).toEqual([])
}

async function refusesZombie(trial: Trial): Promise<void> {
  const zombie = await trial.start()
  trial.expireLeases()
  const successor = await trial.takeOver(zombie.id)
  const refusal = await refusalOf(async () => {
    zombie.text('braaains')
    zombie.complete()
    await zombie.flush()
  })
  expect(refusal).toBe('fenced')
  successor.text('I go on. ')
  successor.complete()
  await successor.flush()
  await expectLog(trial.store, successor.id, successor.records)
  expect((await readBytes(trial.store, successor.id)).toString()).not.toContain('braaains')
  expect((await trial.store.get(successor.id))?.run).toEqual(successor.run)
}

async function settlesPending(trial: Trial): Promise<void> {
  const zombie = await trial.start()
  const durable = zombie.records.length
  zombie.text('was it written? ')
  zombie.text('was this? ')
  trial.expireLeases()
  const claim = (await trial.store.claim(zombie.id, 'worker-2', TTL_MS))!
  const refusal = await refusalOf(() => zombie.flush())
  expect(claim.next).toBeGreaterThanOrEqual(durable)
  expect(refusal).toBe(claim.next === zombie.records.length ? undefined : 'fenced')
  const successor = new RunWriter(trial.store, trial.clock, claim, zombie.records.slice(0, claim.next))
  successor.text('mine')
  await successor.flush()
  await expectLog(trial.store, successor.id, successor.records)
}

async function releases(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  await trial.store.release(runWriter.id, runWriter.epoch)
  expect((await trial.store.get(runWriter.id))?.lease).toBeUndefined()
  expect(await trial.store.claimable(10)).toEqual([runWriter.id])
  const successor = await trial.takeOver(runWriter.id)
  expect(successor.epoch).toBe(2)
  successor.complete()
  await successor.flush()
  await expectLog(trial.store, successor.id, successor.records)
}

async function releasesOnlyOwn(trial: Trial): Promise<void> {
  const first = await trial.start()
  trial.expireLeases()
  const second = await trial.takeOver(first.id)
  for (const epoch of [first.epoch, second.epoch + 1, 0]) await trial.store.release(first.id, epoch)
  expect((await trial.store.get(first.id))?.lease?.worker).toBe('worker-2')
  expect(await trial.store.claim(first.id, 'worker-3', TTL_MS)).toBeUndefined()
  await trial.store.release('run_nobody', 1)
}

async function renews(trial: Trial): Promise<void> {
  const own = [await trial.start(), await trial.start()].map((runWriter) => runWriter.id)
  const other = await trial.start({ claim: { worker: 'worker-2', ttlMs: TTL_MS } })
  for (let round = 0; round < 5; round++) {
    trial.clock.advance(TTL_MS - 1)
    expect((await renewed(trial, 'worker-1')).toSorted()).toEqual(own)
  }
  const until = trial.clock.now() + TTL_MS
  for (const id of own) {
    expect(await trial.store.get(id)).toMatchObject({ epoch: 1, lease: { worker: 'worker-1', until } })
    expect(await trial.store.claim(id, 'worker-2', TTL_MS)).toBeUndefined()
  }
  expect(await trial.store.claimable(10)).toEqual([other.id])
  expect(await trial.store.renew('worker-3', TTL_MS)).toEqual([])
}

async function renewed(trial: Trial, worker: string): Promise<string[]> {
  return (await trial.store.renew(worker, TTL_MS)).map(({ id }) => id)
}

async function renewsWithFacts(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  const { id } = runWriter
  expect(await trial.store.renew('worker-1', TTL_MS)).toEqual([{ id, epoch: 1, next: 2 }])
  runWriter.pause()
  await runWriter.flush()
  // The same worker again, with a new lease.
  await trial.takeOver(id, 'worker-1', { paused: true })
  expect(await trial.store.renew('worker-1', TTL_MS)).toEqual([{ id, epoch: 2, next: 3 }])
  const stop = { at: trial.clock.iso(), reason: 'changed my mind', by: 'anna' }
  await trial.store.requestStop(id, stop)
  expect(await trial.store.renew('worker-1', TTL_MS)).toEqual([{ id, epoch: 2, next: 3, stop }])
}

async function renewsOnlyHeld(trial: Trial): Promise<void> {
  const [lost, released, kept] = [await trial.start(), await trial.start(), await trial.start()]
  trial.clock.advance(TTL_MS / 2)
  await trial.store.release(released.id, released.epoch)
  await trial.store.release(lost.id, lost.epoch)
  await trial.takeOver(lost.id)
  expect(await renewed(trial, 'worker-1')).toEqual([kept.id])
  expect(await renewed(trial, 'worker-2')).toEqual([lost.id])
  expect((await trial.store.get(lost.id))?.lease?.worker).toBe('worker-2')
  expect(await trial.store.claimable(10)).toEqual([released.id])
}

async function renewsLate(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  trial.expireLeases()
  expect(await renewed(trial, 'worker-1')).toEqual([runWriter.id])
  expect(await trial.store.claim(runWriter.id, 'worker-2', TTL_MS)).toBeUndefined()
  runWriter.text('I was only slow')
  await runWriter.flush()
  await expectLog(trial.store, runWriter.id, runWriter.records)
}

async function pauses(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  runWriter.pause()
  await runWriter.flush()
  expect((await trial.store.get(runWriter.id))?.lease).toBeUndefined()
  expect(await trial.store.renew('worker-1', TTL_MS)).toEqual([])
  trial.expireLeases()
  expect(await trial.store.claimable(10)).toEqual([])
  expect(await trial.store.claim(runWriter.id, 'worker-2', TTL_MS)).toBeUndefined()
  const successor = await trial.takeOver(runWriter.id, 'worker-2', { paused: true })
  expect(successor.epoch).toBe(2)
  expect(await trial.store.claim(runWriter.id, 'worker-3', TTL_MS, { paused: true })).toBeUndefined()
  successor.resume()
  successor.complete()
  await successor.flush()
  await expectLog(trial.store, successor.id, successor.records)
}

async function pausesAgain(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  runWriter.pause()
  await runWriter.flush()
  const successor = await trial.takeOver(runWriter.id, 'worker-2', { paused: true })
  successor.resume()
  successor.pause()
  await successor.flush()
  expect((await trial.store.get(successor.id))?.lease).toBeUndefined()
  expect(await trial.store.claim(successor.id, 'worker-3', TTL_MS, { paused: true })).toMatchObject({ epoch: 3 })
}

async function wakes(trial: Trial): Promise<void> {
  const [overdue, patient] = [await trial.start(), await trial.start()]
  overdue.pause(TTL_MS * 3)
  patient.pause()
  await Promise.all([overdue.flush(), patient.flush()])
  const { wakeAt } = overdue.run
  expect((await trial.store.get(overdue.id))?.run.wakeAt).toBe(wakeAt)
  trial.clock.advance(TTL_MS * 3 - 1)
  expect(await trial.store.claimable(10)).toEqual([])
  expect(await trial.store.claim(overdue.id, 'worker-2', TTL_MS)).toBeUndefined()
  trial.clock.advance(1)
  expect(trial.clock.now()).toBe(wakeAt)
  expect(await trial.store.claimable(10)).toEqual([overdue.id])
  const successor = await trial.takeOver(overdue.id)
  expect(await trial.store.claimable(10)).toEqual([])
  successor.resume()
  successor.pause()
  await successor.flush()
  expect(await trial.store.claimable(10), 'the question that was overdue is gone').toEqual([])
}

async function appendsUntilNextClaim(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  trial.expireLeases()
  runWriter.text('slow, but nobody took it. ')
  await runWriter.flush()
  runWriter.pause()
  await runWriter.flush()
  // Another question while the first one is open.
  runWriter.pause()
  await runWriter.flush()
  await expectLog(trial.store, runWriter.id, runWriter.records)
  const successor = await trial.takeOver(runWriter.id, 'worker-2', { paused: true })
  const refusal = await refusalOf(async () => {
    runWriter.pause()
    await runWriter.flush()
  })
  expect(refusal).toBe('fenced')
  await expectLog(trial.store, successor.id, successor.records)
}

async function finishes(trial: Trial): Promise<void> {
  const runWriter = await trial.finish()
  expect((await trial.store.get(runWriter.id))?.lease).toBeUndefined()
  trial.expireLeases()
  expect(await trial.store.renew('worker-1', TTL_MS)).toEqual([])
  expect(await trial.store.claimable(10)).toEqual([])
  expect(await trial.store.claim(runWriter.id, 'worker-2', TTL_MS)).toBeUndefined()
  expect(await trial.store.claim(runWriter.id, 'worker-2', TTL_MS, { paused: true })).toBeUndefined()
  expect((await trial.store.get(runWriter.id))?.epoch).toBe(1)
}

async function listsClaimable(trial: Trial): Promise<void> {
  const states = ['waiting', 'expired', 'held', 'paused', 'finished', 'released', 'waiting'] as const
  const begun: string[] = []
  const waiting: string[] = []
  for (const state of states) {
    trial.clock.advance(1)
    const runWriter = state === 'waiting' ? undefined : await trial.start({ claim: { worker: state, ttlMs: TTL_MS } })
    if (state === 'paused') runWriter?.pause()
    if (state === 'finished') runWriter?.complete()
    await runWriter?.flush()
    if (state === 'released') await trial.store.release(runWriter!.id, 1)
    if (state === 'waiting') waiting.push((await trial.create()).run.id)
    if (state === 'expired' || state === 'released') begun.push(runWriter!.id)
  }
  const expected = [...begun, ...waiting]
  trial.clock.advance(TTL_MS / 2)
  await trial.store.renew('held', TTL_MS)
  trial.clock.advance(TTL_MS / 2 + 1)
  expect(await trial.store.claimable(100)).toEqual(expected)
  expect(await trial.store.claimable(2)).toEqual(expected.slice(0, 2))
  for (const id of expected) expect(await trial.store.claim(id, 'worker-9', TTL_MS)).toBeDefined()
  expect(await trial.store.claimable(100)).toEqual([])
}

async function listsClaimableOf(trial: Trial): Promise<void> {
  const ids: string[] = []
  for (const component of ['a', 'b', 'c', 'a']) ids.push((await trial.create({ component })).run.id)
  const [firstA, b, , secondA] = ids as [string, string, string, string]
  expect(await trial.store.claimable(100, { components: ['a'] })).toEqual([firstA, secondA])
  // The limit applies after the filter.
  expect(await trial.store.claimable(2, { components: ['b', 'a'] })).toEqual([firstA, b])
  expect(await trial.store.claimable(1, { components: ['c'] })).toHaveLength(1)
  expect(await trial.store.claimable(100, { components: [] })).toEqual([])
  expect(await trial.store.claimable(100, { components: ['nobody serves this'] })).toEqual([])
  expect(await trial.store.claimable(100)).toEqual(ids)
}

async function listsStoppedOfAny(trial: Trial): Promise<void> {
  const runWriter = await trial.start({ component: 'a' })
  const { run: queued } = await trial.create({ component: 'b' })
  await trial.create({ component: 'c' })
  for (const id of [runWriter.id, queued.id]) await trial.store.requestStop(id, { at: trial.clock.iso() })
  expect(await trial.store.claimable(10, { components: [] }), 'the first is held').toEqual([queued.id])
  trial.expireLeases()
  for (const takeover of [true, false])
    expect(await trial.store.claimable(10, { components: [], takeover })).toEqual([runWriter.id, queued.id])
  expect(await trial.store.claim(runWriter.id, 'worker-2', TTL_MS, { takeover: false })).toMatchObject({ epoch: 2 })
}

async function leavesLeased(trial: Trial): Promise<void> {
  const leased = await trial.start()
  const draft = trial.newRun({ claim: { worker: 'worker-1', ttlMs: TTL_MS } })
  await trial.store.create(draft) // claimed, but not started yet
  const released = await trial.start()
  await trial.store.release(released.id, released.epoch)
  const { run: queued } = await trial.create()
  trial.expireLeases()
  const free = [released.id, queued.id]
  const takeover = false
  expect((await trial.store.claimable(10)).toSorted()).toEqual([leased.id, draft.run.id, ...free])
  expect(await trial.store.claimable(10, { takeover })).toEqual(free)
  for (const id of [leased.id, draft.run.id]) {
    expect(await trial.store.claim(id, 'worker-2', TTL_MS, { takeover })).toBeUndefined()
    expect(await trial.store.claim(id, 'worker-2', TTL_MS, { takeover: true })).toMatchObject({ epoch: 2 })
  }
  for (const id of free) expect(await trial.store.claim(id, 'worker-2', TTL_MS, { takeover })).toBeDefined()
}

async function tellsUnserved(trial: Trial): Promise<void> {
  const { store } = trial
  await trial.create({ component: 'a' })
  await trial.start({ component: 'b' })
  await trial.finish({ component: 'c' })
  const unserved = async (): Promise<string[]> => (await store.unserved()).toSorted()
  expect(await unserved()).toEqual(['a', 'b'])
  await store.renew('worker-1', TTL_MS, ['b', 'x'])
  expect(await unserved()).toEqual(['a'])
  await store.renew('worker-2', TTL_MS * 2, ['a'])
  expect(await unserved()).toEqual([])
  await store.renew('worker-1', TTL_MS, [])
  expect(await unserved()).toEqual(['b'])
  trial.clock.advance(TTL_MS * 2)
  expect(await unserved()).toEqual(['a', 'b'])
  await store.renew('worker-3', TTL_MS) // reports no components, so it may serve all
  expect(await unserved()).toEqual([])
}

async function tellsRefusal(trial: Trial): Promise<void> {
  const zombie = await trial.start()
  trial.expireLeases()
  await trial.takeOver(zombie.id)
  const told: unknown[] = []
  const tell = (cause: unknown): void => void told.push(cause)
  const writer = trial.store.writer(zombie.id, { epoch: zombie.epoch, next: zombie.records.length }, tell)
  const event = { type: 'text.delta', data: { text: 'braaains' } } as const
  try {
    writer.append(recordOf(zombie.id, writer.next, trial.clock.iso(), event))
    writer.flush().catch(() => {}) // a store may write nothing before this; the rejection of flush is not the report
  } catch (cause) {
    tell(cause) // reported at once
  }
  await trial.eventually(() => expect(told).toMatchObject([{ code: 'fenced' }]))
}

async function keepsFirstStop(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  const stop = { at: trial.clock.iso(), reason: 'changed my mind', by: 'anna' }
  expect(await trial.store.requestStop(runWriter.id, stop)).toMatchObject({ stop, next: 2, epoch: 1 })
  trial.clock.advance(5)
  const again = await trial.store.requestStop(runWriter.id, { at: trial.clock.iso(), by: 'bert' })
  expect(again?.stop).toEqual(stop)
  trial.expireLeases()
  const claim = await trial.store.claim(runWriter.id, 'worker-2', TTL_MS)
  expect(claim?.stop).toEqual(stop)
  const { run } = await trial.create()
  const bare = { at: trial.clock.iso() }
  expect((await trial.store.requestStop(run.id, bare))?.stop).toEqual(bare)
  expect((await trial.store.get(run.id))?.stop).toEqual(bare)
}

async function claimsToStop(trial: Trial): Promise<void> {
  const paused = await trial.start({ lane: 'lane-1' })
  paused.pause()
  await paused.flush()
  const { run: behind } = await trial.create({ lane: 'lane-1' })
  for (const id of [paused.id, behind.id]) {
    expect(await trial.store.claim(id, 'worker-2', TTL_MS)).toBeUndefined()
    await trial.store.requestStop(id, { at: trial.clock.iso() })
    expect(await trial.store.claimable(100)).toEqual([id])
    expect((await trial.store.claim(id, 'worker-2', TTL_MS))?.run.id).toBe(id)
    expect(await trial.store.claim(id, 'worker-3', TTL_MS)).toBeUndefined()
  }
}

async function countsQueued(trial: Trial): Promise<void> {
  expect(await trial.store.queued()).toBe(0)
  const { run } = await trial.create({ lane: 'lane-1' })
  await trial.create({ lane: 'lane-1' })
  await trial.start()
  await trial.finish()
  expect(await trial.store.queued()).toBe(2)
  const runWriter = await trial.takeOver(run.id)
  runWriter.start()
  await runWriter.flush()
  expect(await trial.store.queued()).toBe(1)
}

async function leavesFinished(trial: Trial): Promise<void> {
  const runWriter = await trial.finish()
  const before = (await trial.store.get(runWriter.id))!
  expect(await trial.store.requestStop(runWriter.id, { at: trial.clock.iso() })).toEqual(before)
  expect(await trial.store.get(runWriter.id)).toEqual(before)
  expect(isFinished(before.run.status)).toBe(true)
  expect(before.stop).toBeUndefined()
  await expectLog(trial.store, runWriter.id, runWriter.records)
}
