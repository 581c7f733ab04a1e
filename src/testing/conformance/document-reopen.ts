/** Documents after a kill and a reopen. */
import { expect } from 'vitest'
import { SESSIONS } from '../../core/model/document.ts'
import { current, draft } from './documents.ts'
import type { ConformanceSection } from './target.ts'
import type { Trial } from './trial.ts'

export const documentReopenSection: ConformanceSection = {
  name: 'recovery of documents',
  needsReopen: true,
  cases: [
    { name: 'documents and their listing survive a reopen', run: keepsDocuments },
    { name: 'a removed document stays removed after a reopen', run: keepsRemoved },
    { name: 'document versions continue after a reopen', run: keepsVersions },
    { name: 'an unacknowledged put is atomic', run: putsWholly },
    { name: 'an unacknowledged create is atomic with its session', run: createsWithSession },
    { name: 'sessions are touched after a reopen', run: touchesAgain },
  ],
}

async function keepsDocuments(trial: Trial): Promise<void> {
  await trial.create({ session: 's-1' })
  await trial.store.documents.put(
    draft({ label: 'x', title: 'É', body: { text: '🌊 \ud800', large: 'y'.repeat(99_999) } }),
  )
  trial.clock.advance(10)
  await trial.store.documents.put(draft({ id: 'note-2', owner: 'owner-2' }))
  await trial.store.documents.put(draft({ id: 'note-2', owner: 'owner-2', body: null }))
  await trial.create({ session: 's-1' })
  const look = async () => ({
    notes: await trial.store.documents.list({ collection: 'notes', limit: 10 }),
    found: await trial.store.documents.list({ collection: 'notes', title: 'é', limit: 10 }),
    sessions: await trial.store.documents.list({ collection: SESSIONS, order: 'updated', limit: 10 }),
    note: await current(trial, draft()),
  })
  const before = await look()
  await trial.reopen()
  expect(await look()).toEqual(before)
  expect([before.notes.total, before.found.total, before.sessions.total]).toEqual([2, 1, 1])
}

async function keepsRemoved(trial: Trial): Promise<void> {
  const { id } = await trial.finish()
  await trial.store.documents.put(draft())
  await trial.store.documents.remove('owner-1', 'notes', 'note-1')
  await trial.store.documents.remove('owner-1', SESSIONS, 'session-1')
  await trial.reopen()
  expect(await current(trial, draft())).toBeUndefined()
  expect(await trial.store.documents.list({ collection: 'notes', limit: 10 })).toEqual({ documents: [], total: 0 })
  expect(await trial.store.get(id)).toBeDefined()
  expect(await current(trial, draft({ collection: SESSIONS, id: 'session-1' }))).toBeUndefined()
}

async function keepsVersions(trial: Trial): Promise<void> {
  for (let version = 0; version < 5; version++) {
    expect(await trial.store.documents.put(draft({ body: version }), version)).toMatchObject({ version: version + 1 })
    await trial.reopen()
    expect(await trial.store.documents.put(draft(), version)).toBeUndefined()
    expect(await current(trial, draft())).toMatchObject({ version: version + 1, body: version })
  }
}

async function putsWholly(trial: Trial): Promise<void> {
  const drafts = Array.from({ length: 20 }, (_, number) =>
    draft({ id: `note-${number}`, label: `${number}`, title: `${number}`, body: { number, text: 'z'.repeat(10_000) } }),
  )
  const answered = new Set<string>()
  const putting = drafts.map((each) =>
    trial.store.documents.put(each, 0).then(
      () => answered.add(each.id),
      () => undefined,
    ),
  )
  await Promise.race(putting)
  const sure = [...answered]
  await trial.reopen()
  for (const id of sure) expect(await current(trial, draft({ id }))).toBeDefined()
  for (const each of drafts) {
    const kept = await current(trial, each)
    if (kept !== undefined) expect(kept).toMatchObject({ ...each, version: 1 })
    expect(await trial.store.documents.put(each, kept?.version ?? 0)).toBeDefined()
  }
}

async function createsWithSession(trial: Trial): Promise<void> {
  const drafts = Array.from({ length: 20 }, (_, number) => trial.newRun({ session: `session-${number}` }))
  const creating = drafts.map((each) => trial.store.create(each).catch(() => undefined))
  await Promise.race(creating)
  await trial.reopen()
  for (const { run } of drafts) {
    const document = await current(trial, draft({ collection: SESSIONS, id: run.session }))
    expect((await trial.store.get(run.id)) === undefined, `session and run ${run.id}`).toBe(document === undefined)
  }
}

async function touchesAgain(trial: Trial): Promise<void> {
  const { run } = await trial.create()
  await trial.reopen()
  trial.clock.advance(10)
  await trial.create()
  const session = await current(trial, draft({ collection: SESSIONS, id: 'session-1' }))
  expect(session).toMatchObject({ version: 1, createdAt: run.createdAt, updatedAt: trial.clock.iso() })
}
