/** Sessions: creating a run updates its session's document atomically, and nothing else does. */
import { expect } from 'vitest'
import { type Document, sessionDocument, SESSIONS } from '../../core/model/document.ts'
import { lookUntil, refusalOf } from './reading.ts'
import type { ConformanceSection } from './target.ts'
import { TTL_MS, type Trial } from './trial.ts'

const CONCURRENT = 20

export const sessionsSection: ConformanceSection = {
  name: 'sessions',
  cases: [
    { name: 'the first run of a session creates its document', run: makesDocument },
    { name: 'a later run updates only the time of the document', run: movesTime },
    { name: 'neither a touch nor a put moves a time back', run: neverMovesBack },
    { name: 'a touch does not fail a compare-and-set', run: leavesVersion },
    { name: 'a create that creates nothing touches nothing', run: touchesOnlyForCreated },
    { name: 'later changes of a run do not touch its session', run: touchesOnce },
    { name: 'a session outlives the removal of its runs', run: outlivesRuns },
    { name: '[SEC-1] the same session id of two owners is two sessions', run: keepsOwnersApart },
    { name: 'concurrent creates in one session create one document', run: makesOne },
    { name: 'a first run and a concurrent initial put create one document', run: racesPut },
    { name: 'a run is never visible without the document of its session', run: createsAtomically },
  ],
}

function session(trial: Trial, id = 'session-1', owner = 'owner-1'): Promise<Document | undefined> {
  return trial.store.documents.get(owner, SESSIONS, id)
}

async function makesDocument(trial: Trial): Promise<void> {
  const { run } = await trial.create({ session: 'tale/é', component: 'storyteller' })
  const document = await session(trial, 'tale/é')
  expect(document).toEqual(sessionDocument(run))
  expect(document).toMatchObject({ label: 'storyteller', body: {}, version: 1, createdAt: run.createdAt })
  expect(await trial.store.documents.list({ collection: SESSIONS, limit: 10 })).toEqual({
    documents: [document],
    total: 1,
  })
}

async function movesTime(trial: Trial): Promise<void> {
  const first = await trial.create()
  trial.clock.advance(10)
  await trial.create({ component: 'another' })
  expect(await session(trial)).toEqual({ ...sessionDocument(first.run), updatedAt: trial.clock.iso() })
  const owned = { owner: 'owner-1', collection: SESSIONS, id: 'session-1' }
  const put = await trial.store.documents.put({ ...owned, label: 'mine', title: 'My tale', body: { state: [1] } })
  trial.clock.advance(10)
  await trial.create()
  expect(await session(trial)).toEqual({ ...put, updatedAt: trial.clock.iso() })
  const bare = await trial.store.documents.put({ ...owned, body: null })
  await trial.create()
  expect(await session(trial)).toEqual(bare)
}

async function neverMovesBack(trial: Trial): Promise<void> {
  await trial.create()
  const updatedAt = trial.clock.iso()
  // As if from a node whose clock is behind, and from one whose clock is ahead.
  await trial.create({ createdAt: '2020-01-01T00:00:00.000Z' })
  expect(await session(trial)).toMatchObject({ createdAt: updatedAt, updatedAt })
  const ahead = '2030-01-01T00:00:00.000Z'
  await trial.create({ createdAt: ahead })
  expect((await session(trial))?.updatedAt).toBe(ahead)
  await trial.store.documents.put({ owner: 'owner-1', collection: SESSIONS, id: 'session-1', body: 1 })
  expect(await session(trial)).toMatchObject({ body: 1, createdAt: updatedAt, updatedAt: ahead })
}

async function leavesVersion(trial: Trial): Promise<void> {
  await trial.create()
  const { version } = (await session(trial))!
  trial.clock.advance(10)
  await trial.create()
  const owned = { owner: 'owner-1', collection: SESSIONS, id: 'session-1' }
  expect(await trial.store.documents.put({ ...owned, title: 'Named', body: {} }, version)).toMatchObject({ version: 2 })
  expect(await trial.store.documents.put({ ...owned, body: {} }, version)).toBeUndefined()
}

async function touchesOnlyForCreated(trial: Trial): Promise<void> {
  const idempotency = { key: 'one', fingerprint: 'body' }
  const first = trial.newRun({ idempotency, lane: 'lane-1' })
  await trial.store.create(first)
  const before = await session(trial)
  trial.clock.advance(10)
  const drafts = (id: string) => [
    trial.newRun({ idempotency, session: id }),
    trial.newRun({ idempotency: { key: 'one', fingerprint: 'other' }, session: id }),
    trial.newRun({ lane: 'lane-1', rejectIfBusy: true, session: id }),
  ]
  for (const id of ['session-1', 'session-2']) {
    const kinds: string[] = []
    for (const each of drafts(id)) kinds.push((await trial.store.create(each)).kind)
    expect(kinds).toEqual(['existing', 'key_conflict', 'busy'])
    const twin = { ...trial.newRun({ session: id }).run, id: first.run.id }
    expect(await trial.store.create({ run: twin, record: first.record }).catch(() => 'refused')).toBe('refused')
  }
  expect(await session(trial)).toEqual(before)
  expect(await session(trial, 'session-2')).toBeUndefined()
}

async function touchesOnce(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  const before = await session(trial)
  expect(before).toBeDefined()
  const change = async (): Promise<void> => {
    trial.clock.advance(10)
    runWriter.text('on and on')
    await runWriter.flush()
    await trial.store.requestStop(runWriter.id, { at: trial.clock.iso() })
    await trial.store.renew('worker-1', TTL_MS)
  }
  await change()
  expect(await session(trial)).toEqual(before)
  await trial.store.documents.remove('owner-1', SESSIONS, 'session-1')
  await change()
  await trial.store.release(runWriter.id, runWriter.epoch)
  const successor = await trial.takeOver(runWriter.id)
  successor.complete()
  await successor.flush()
  await trial.store.trim(runWriter.id, 2)
  expect(await session(trial)).toBeUndefined()
}

async function outlivesRuns(trial: Trial): Promise<void> {
  const { id } = await trial.finish()
  const before = await session(trial)
  expect(before).toBeDefined()
  trial.clock.advance(10)
  expect(await trial.store.remove(id)).toBe(true)
  expect(await session(trial)).toEqual(before)
  const running = await trial.start()
  expect(await refusalOf(() => trial.store.remove(running.id))).toBe('conflict')
  expect(await session(trial)).toEqual({ ...before, updatedAt: trial.clock.iso() })
}

async function keepsOwnersApart(trial: Trial): Promise<void> {
  const anna = await trial.create({ owner: 'anna', component: 'hers' })
  trial.clock.advance(10)
  const bert = await trial.create({ owner: 'bert', component: 'his' })
  expect(await session(trial, 'session-1', 'anna')).toEqual(sessionDocument(anna.run))
  expect(await session(trial, 'session-1', 'bert')).toEqual(sessionDocument(bert.run))
  expect(await session(trial, 'session-1', 'carl')).toBeUndefined()
}

async function makesOne(trial: Trial): Promise<void> {
  await Promise.all(Array.from({ length: CONCURRENT }, () => trial.create()))
  const { documents, total } = await trial.store.documents.list({ collection: SESSIONS, limit: 100 })
  expect(total).toBe(1)
  expect(documents).toMatchObject([{ id: 'session-1', version: 1, body: {} }])
}

async function racesPut(trial: Trial): Promise<void> {
  for (let number = 0; number < CONCURRENT; number++) {
    const id = `session-${number}`
    const put = { owner: 'owner-1', collection: SESSIONS, id, title: 'Mine', body: number }
    const [created, answer] = await Promise.all([trial.create({ session: id }), trial.store.documents.put(put, 0)])
    expect(await session(trial, id)).toEqual(answer ?? sessionDocument(created.run))
  }
}

async function createsAtomically(trial: Trial): Promise<void> {
  const drafts = Array.from({ length: CONCURRENT }, (_, number) => trial.newRun({ session: `session-${number}` }))
  const look = async (): Promise<void> => {
    const { runs } = await trial.store.list({ limit: 100 })
    for (const { run } of runs) expect(await session(trial, run.session), `of run ${run.id}`).toBeDefined()
  }
  await lookUntil(Promise.all(drafts.map((each) => trial.store.create(each))), look)
  expect((await trial.store.documents.list({ collection: SESSIONS, limit: 0 })).total).toBe(CONCURRENT)
}
