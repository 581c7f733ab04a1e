/** Run listings: newest first, filters, stable pages. */
import { expect } from 'vitest'
import type { RunQuery, StoredRun } from '../../core/ports/store.ts'
import { refusalOf } from './reading.ts'
import type { ConformanceSection } from './target.ts'
import type { Trial } from './trial.ts'

const PAGES_MAX = 1000

export const listingSection: ConformanceSection = {
  name: 'listing',
  cases: [
    { name: 'runs are listed newest first, by creation time and then id', run: listsNewestFirst },
    { name: 'pages of any size return every run once', run: givesEveryRunOnce },
    { name: 'only the last page has no cursor', run: endsWithTheLastPage },
    { name: 'pages are stable while runs are created', run: staysWhileCreated },
    { name: 'pages are stable while runs change and are removed', run: staysWhileRemoved },
    { name: 'filters apply alone and combined', run: filters },
    { name: 'a run is listed by the version that last executed it', run: listsByLastVersion },
    { name: 'a listed run equals what get returns', run: listsWhatGetGives },
    { name: '[SUB-2] an invalid cursor is an error', run: refusesBadCursors },
  ],
}

/** 20 runs, some created in the same millisecond; returns their ids in listing order. */
async function createMany(trial: Trial): Promise<string[]> {
  const ids: string[] = []
  for (let index = 0; index < 20; index++) {
    if (index % 3 === 0) trial.clock.advance(1)
    ids.unshift((await trial.create()).run.id)
  }
  return ids
}

async function listsNewestFirst(trial: Trial): Promise<void> {
  const ids = await createMany(trial)
  const early = { createdAt: '2020-01-01T00:00:00.000Z' }
  const late = { createdAt: '2030-01-01T00:00:00.000Z' }
  const outOfOrder = [await trial.create(late), await trial.create(early)].map((stored) => stored.run.id)
  expect(idsOf((await trial.store.list({ limit: 100 })).runs)).toEqual([outOfOrder[0], ...ids, outOfOrder[1]])
}

async function givesEveryRunOnce(trial: Trial): Promise<void> {
  const ids = await createMany(trial)
  for (const limit of [1, 2, 3, 7, 19, 20, 21, 100]) expect(idsOf(await walk(trial, { limit }))).toEqual(ids)
}

async function endsWithTheLastPage(trial: Trial): Promise<void> {
  expect(await trial.store.list({ limit: 5 })).toEqual({ runs: [] })
  await createMany(trial)
  const whole = await trial.store.list({ limit: 20 })
  expect(whole.runs).toHaveLength(20)
  expect(whole.cursor).toBeUndefined()
  const most = await trial.store.list({ limit: 19 })
  expect(most.cursor).toBeTypeOf('string')
  const rest = await trial.store.list({ limit: 19, after: most.cursor! })
  expect(rest.runs).toHaveLength(1)
  expect(rest.cursor).toBeUndefined()
}

async function staysWhileCreated(trial: Trial): Promise<void> {
  const ids = await createMany(trial)
  // In the same millisecond as the newest, and later.
  const between = async (): Promise<void> => {
    await trial.create()
    trial.clock.advance(1)
    await trial.create()
  }
  for (const limit of [1, 3, 7]) {
    const before = idsOf(await walk(trial, { limit: 100 }))
    expect(idsOf(await walk(trial, { limit }, between))).toEqual(before)
    expect(before.slice(-ids.length)).toEqual(ids)
  }
}

async function staysWhileRemoved(trial: Trial): Promise<void> {
  const ids: string[] = []
  for (let index = 0; index < 12; index++) ids.unshift((await trial.finish()).id)
  const first = await trial.store.list({ limit: 4 })
  // Removes the run at the cursor, and one before it.
  for (const id of [ids[3]!, ids[1]!]) await trial.store.remove(id)
  const second = await trial.store.list({ limit: 4, after: first.cursor! })
  expect(idsOf(second.runs)).toEqual(ids.slice(4, 8))
  const running = await trial.start()
  running.text('changes nothing in the listing')
  await running.flush()
  const third = await trial.store.list({ limit: 4, after: second.cursor! })
  expect(idsOf(third.runs)).toEqual(ids.slice(8))
}

async function filters(trial: Trial): Promise<void> {
  const all: StoredRun[] = []
  for (let index = 0; index < 24; index++) {
    const options = {
      owner: `owner-${index % 2}`,
      component: `component-${index % 3}`,
      session: `session-${index % 4}`,
      // Looks like a version, but is metadata.
      metadata: { version: '2.0' },
      ...(index % 3 !== 0 && { version: `${index % 3}.0` }),
    }
    trial.clock.advance(1)
    if (index % 5 === 0) await trial.finish(options)
    else if (index % 5 === 1) await trial.start(options)
    else await trial.create(options)
  }
  all.push(...(await trial.store.list({ limit: 100 })).runs)
  const queries: Omit<RunQuery, 'limit'>[] = [
    { owner: 'owner-1' },
    { component: 'component-2' },
    { session: 'session-3' },
    { status: ['completed'] },
    { status: ['queued', 'running'] },
    { version: '2.0' },
    { owner: 'owner-1', version: '1.0' },
    { owner: 'owner-1', version: '2.0', status: ['completed', 'queued'] },
    { owner: 'owner-0', session: 'session-2', version: '2.0' },
    { owner: 'owner-0', version: '3.0' },
    { version: '"2.0' },
    { owner: 'owner-0', component: 'component-1' },
    { owner: 'owner-1', session: 'session-1', status: ['running', 'completed'] },
    { owner: 'owner-0', component: 'component-0', session: 'session-0', status: ['completed'] },
    { owner: 'nobody' },
    { status: [] },
  ]
  for (const query of queries) {
    const expected = idsOf(all.filter(({ run }) => matches(run, query)))
    for (const limit of [1, 2, 100])
      expect(idsOf(await walk(trial, { ...query, limit })), `listing ${JSON.stringify(query)}`).toEqual(expected)
  }
}

async function listsByLastVersion(trial: Trial): Promise<void> {
  const { run } = await trial.create({ version: '1.0' })
  const listed = async (version: string): Promise<string[]> =>
    idsOf((await trial.store.list({ owner: run.owner, version, limit: 10 })).runs)
  expect(await listed('1.0')).toEqual([run.id])
  const runWriter = await trial.takeOver(run.id)
  runWriter.append({ type: 'run.started', data: { attempt: 1, version: '2.0' } })
  runWriter.complete()
  await runWriter.flush()
  expect([await listed('1.0'), await listed('2.0')]).toEqual([[], [run.id]])
}

async function listsWhatGetGives(trial: Trial): Promise<void> {
  await trial.finish({ metadata: { tag: 'é' } })
  await trial.start()
  await trial.create()
  for (const stored of (await trial.store.list({ limit: 10 })).runs) {
    expect(stored).toEqual(await trial.store.get(stored.run.id))
  }
}

async function refusesBadCursors(trial: Trial): Promise<void> {
  await createMany(trial)
  const { cursor } = await trial.store.list({ limit: 5 })
  for (const after of ['', 'nonsense', 'null', '{}', '[]', '🙂', cursor!.slice(0, 5), '%00']) {
    expect(await refusalOf(() => trial.store.list({ limit: 5, after })), `cursor ${after}`).toBe('cursor_invalid')
  }
}

/** All pages of a listing; calls `between` after each. */
async function walk(trial: Trial, query: RunQuery, between?: () => Promise<void>): Promise<StoredRun[]> {
  const runs: StoredRun[] = []
  let after: string | undefined
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const page = await trial.store.list({ ...query, ...(after !== undefined && { after }) })
    expect(page.runs.length).toBeLessThanOrEqual(query.limit)
    runs.push(...page.runs)
    if (page.cursor === undefined) return runs
    expect(page.runs, 'a page with a cursor is full').toHaveLength(query.limit)
    after = page.cursor
    await between?.()
  }
  throw new Error('the listing has no end')
}

function idsOf(runs: readonly StoredRun[]): string[] {
  return runs.map((stored) => stored.run.id)
}

function matches(run: StoredRun['run'], query: Omit<RunQuery, 'limit'>): boolean {
  const { status, ...equal } = query
  return (
    Object.entries(equal).every(([key, value]) => run[key as keyof typeof run] === value) &&
    (status === undefined || status.includes(run.status))
  )
}
