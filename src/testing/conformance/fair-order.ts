/** Fair queue order: round-robin between owners, so that many runs of one do not starve another. */
import { expect } from 'vitest'
import type { ConformanceSection } from './target.ts'
import { TTL_MS, type Trial } from './trial.ts'

export const turnsSection: ConformanceSection = {
  name: 'fair order',
  cases: [
    { name: 'started runs come before queued ones, oldest first', run: putsBegunFirst },
    { name: 'many queued runs of one owner do not starve another', run: alternatesOwners },
    { name: 'the owner with fewer running runs comes first', run: countsRunning },
    { name: 'among owners with equally many running runs, the longest waiting comes first', run: breaksTies },
    { name: 'among owners without running runs, the least recently served comes first', run: alternates },
    { name: 'a run that waits for its lane takes no queue position of its owner', run: skipsLanes },
    { name: 'runs of other components take no queue position of their owner', run: skipsOthers },
    { name: 'a leased run takes no queue position of its owner, and an abandoned one does', run: skipsHeld },
    { name: 'the queued runs of one owner are counted', run: countsOwn },
  ],
}

/** Queues runs of an owner with increasing times; oldest first. */
async function queue(trial: Trial, owner: string, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let index = 0; index < count; index++) {
    trial.clock.advance(1)
    ids.push((await trial.create({ owner })).run.id)
  }
  return ids
}

async function putsBegunFirst(trial: Trial): Promise<void> {
  const waiting = await queue(trial, 'anna', 2)
  const [left, released, overdue, stopped] = [
    await trial.start({ owner: 'bert' }),
    await trial.start({ owner: 'anna' }),
    await trial.start({ owner: 'bert' }),
    await trial.start({ owner: 'anna' }),
  ]
  overdue.pause(TTL_MS / 2)
  stopped.pause()
  await Promise.all([overdue.flush(), stopped.flush()])
  await trial.store.requestStop(stopped.id, { at: trial.clock.iso() })
  await trial.store.release(released.id, released.epoch)
  trial.expireLeases()
  const begun = [left.id, released.id, overdue.id, stopped.id]
  expect(await trial.store.claimable(10)).toEqual([...begun, ...waiting])
  expect(await trial.store.claimable(3)).toEqual(begun.slice(0, 3))
  expect(await trial.store.claimable(5)).toEqual([...begun, waiting[0]])
}

async function alternatesOwners(trial: Trial): Promise<void> {
  const anna = await queue(trial, 'anna', 20)
  const bert = await queue(trial, 'bert', 2)
  const [cleo] = await queue(trial, 'cleo', 1)
  const order = [anna[0], bert[0], cleo, anna[1], bert[1], ...anna.slice(2)]
  expect(await trial.store.claimable(100)).toEqual(order)
  for (const limit of [1, 2, 3, 4, 6]) expect(await trial.store.claimable(limit)).toEqual(order.slice(0, limit))
}

async function countsRunning(trial: Trial): Promise<void> {
  for (let count = 0; count < 2; count++) await trial.start({ owner: 'anna' })
  const anna = await queue(trial, 'anna', 2)
  const bert = await queue(trial, 'bert', 4)
  const begun = await trial.start({ owner: 'bert' })
  expect(await trial.store.claimable(10)).toEqual([bert[0], anna[0], bert[1], anna[1], bert[2], bert[3]])
  // Finished and paused runs do not count as running.
  begun.pause()
  await begun.flush()
  expect(await trial.store.claimable(10)).toEqual([bert[0], bert[1], anna[0], bert[2], anna[1], bert[3]])
  const next = await trial.takeOver(bert[0]!)
  next.start()
  await next.flush()
  expect(await trial.store.claimable(10)).toEqual([bert[1], anna[0], bert[2], anna[1], bert[3]])
  next.complete()
  await next.flush()
  expect(await trial.store.claimable(10)).toEqual([bert[1], bert[2], anna[0], bert[3], anna[1]])
}

async function breaksTies(trial: Trial): Promise<void> {
  const [zoe] = await queue(trial, 'zoe', 1)
  const [anna, annaLater] = await queue(trial, 'anna', 2)
  const [bert] = await queue(trial, 'bert', 1)
  const [zoeLater] = await queue(trial, 'zoe', 1)
  expect(await trial.store.claimable(10)).toEqual([zoe, anna, bert, annaLater, zoeLater])
}

/** With one worker slot, no owner has a running run when the slot becomes free. */
async function alternates(trial: Trial): Promise<void> {
  const anna = await queue(trial, 'anna', 4)
  const bert = await queue(trial, 'bert', 2)
  const order: string[] = []
  for (let round = 0; round < 6; round++) {
    const [next] = await trial.store.claimable(1)
    order.push(next!)
    const runWriter = await trial.takeOver(next!)
    runWriter.start()
    await runWriter.flush()
    runWriter.complete()
    await runWriter.flush()
  }
  expect(order).toEqual([anna[0], bert[0], anna[1], bert[1], anna[2], anna[3]])
}

async function skipsLanes(trial: Trial): Promise<void> {
  const lane = { owner: 'anna', lane: 'lane-1' }
  const { run: head } = await trial.create(lane)
  for (let count = 0; count < 3; count++) await trial.create(lane)
  const anna = await queue(trial, 'anna', 2)
  const bert = await queue(trial, 'bert', 2)
  expect(await trial.store.claimable(10)).toEqual([head.id, bert[0], anna[0], bert[1], anna[1]])
}

async function skipsOthers(trial: Trial): Promise<void> {
  for (let count = 0; count < 3; count++) await trial.create({ owner: 'anna', component: 'other' })
  const anna = await queue(trial, 'anna', 2)
  const bert = await queue(trial, 'bert', 2)
  const asked = { components: ['storyteller', 'another'] }
  expect(await trial.store.claimable(10, asked)).toEqual([anna[0], bert[0], anna[1], bert[1]])
  expect(await trial.store.claimable(2, asked)).toEqual([anna[0], bert[0]])
}

async function skipsHeld(trial: Trial): Promise<void> {
  await trial.start({ owner: 'bert' })
  const [bert] = await queue(trial, 'bert', 1)
  const [held, next] = await queue(trial, 'anna', 2)
  await trial.store.claim(held!, 'worker-1', TTL_MS)
  expect(await trial.store.claimable(10)).toEqual([next, bert])
  trial.expireLeases() // its claimant never started it
  const [, first, ...others] = await trial.store.claimable(10) // after the started one
  expect(first).toBe(held)
  expect(new Set(others)).toEqual(new Set([bert, next]))
}

async function countsOwn(trial: Trial): Promise<void> {
  const [first] = await queue(trial, 'anna', 3)
  await queue(trial, 'bert', 1)
  await trial.start({ owner: 'anna' })
  expect(await trial.store.queued('anna')).toBe(3)
  expect(await trial.store.queued('bert')).toBe(1)
  expect(await trial.store.queued('nobody')).toBe(0)
  const runWriter = await trial.takeOver(first!)
  runWriter.start()
  await runWriter.flush()
  expect(await trial.store.queued('anna')).toBe(2)
  expect(await trial.store.queued()).toBe(3)
}
