/** Run index: creation, idempotency keys, removal. */
import { expect } from 'vitest'
import type { CreateResult, NewRun } from '../../core/ports/store.ts'
import { expectLog, lookUntil, readPages, refusalOf } from './reading.ts'
import type { ConformanceSection } from './target.ts'
import { TTL_MS, type Trial } from './trial.ts'

const CONCURRENT = 50

export const runsSection: ConformanceSection = {
  name: 'runs',
  cases: [
    { name: 'a created run is visible with its first record', run: createsWithRecord },
    { name: '[LOG-1] a run is never visible without its first record', run: createsAtomically },
    { name: 'a run is created and claimed atomically', run: createsClaimed },
    { name: 'a second run with the same id is refused and changes nothing', run: refusesSecondId },
    { name: 'an unknown run is undefined', run: knowsNoOther },
    { name: '[RUN-4] the same key and body return the same run', run: answersKnownKey },
    { name: '[RUN-4] 50 concurrent creates with one key create one run', run: createsOncePerKey },
    { name: '[RUN-4] the same key with another body is a conflict', run: refusesOtherBody },
    { name: '[RUN-4] 50 concurrent creates with one key and two bodies create one run', run: racesTwoBodies },
    { name: '[SEC-1] keys of two owners are separate', run: keepsOwnersApart },
    { name: '[RUN-4] a key lives until its run is removed', run: keepsKeyAsLongAsRun },
    { name: '[RUN-4] a retried start is not refused because its own run keeps the lane busy', run: asksKeyBeforeLane },
    { name: 'a finished run is removed with its log', run: removesFinished },
    { name: 'an unfinished run is not removed', run: refusesToRemoveUnfinished },
  ],
}

async function createsWithRecord(trial: Trial): Promise<void> {
  const draft = trial.newRun({ metadata: { plan: ['a', 1, true, null] }, protocol: 'native', lane: 'lane-1' })
  const created = await trial.store.create(draft)
  expect(created).toEqual({ kind: 'created', stored: { run: draft.run, first: 0, next: 1, epoch: 0 } })
  expect(await trial.store.get(draft.run.id)).toEqual(created.stored)
  await expectLog(trial.store, draft.run.id, [draft.record])
}

async function createsAtomically(trial: Trial): Promise<void> {
  const drafts = Array.from({ length: 20 }, () => trial.newRun())
  const look = async (): Promise<void> => {
    const { runs } = await trial.store.list({ limit: 100 })
    const seen = await Promise.all(drafts.map((draft) => trial.store.get(draft.run.id)))
    for (const stored of [...runs, ...seen]) {
      if (stored === undefined) continue
      expect(stored.next).toBe(1)
      expect((await trial.store.read(stored.run.id, -1, 1000))?.count).toBe(1)
    }
  }
  await lookUntil(Promise.all(drafts.map((draft) => trial.store.create(draft))), look)
  for (const draft of drafts) await expectLog(trial.store, draft.run.id, [draft.record])
}

async function createsClaimed(trial: Trial): Promise<void> {
  const { stored } = await trial.store.create(trial.newRun({ claim: { worker: 'worker-1', ttlMs: TTL_MS } }))
  expect(stored).toMatchObject({ epoch: 1, next: 1, lease: { worker: 'worker-1', until: trial.clock.now() + TTL_MS } })
  expect(await trial.store.get(stored.run.id)).toEqual(stored)
  expect(await trial.store.claim(stored.run.id, 'worker-2', TTL_MS)).toBeUndefined()
  expect(await trial.store.claimable(10)).toEqual([])
}

async function refusesSecondId(trial: Trial): Promise<void> {
  const draft = trial.newRun({ session: 'first' })
  await trial.store.create(draft)
  const second: NewRun = { ...draft, run: { ...draft.run, session: 'second' }, record: `${draft.record} changed` }
  const answer = await trial.store.create(second).catch(() => 'refused')
  expect(answer).toBe('refused')
  expect((await trial.store.get(draft.run.id))?.run).toEqual(draft.run)
  await expectLog(trial.store, draft.run.id, [draft.record])
}

async function knowsNoOther(trial: Trial): Promise<void> {
  await trial.create()
  expect(await trial.store.get('run_nobody')).toBeUndefined()
  expect(await trial.store.claim('run_nobody', 'worker-1', TTL_MS)).toBeUndefined()
  expect(await trial.store.requestStop('run_nobody', { at: trial.clock.iso() })).toBeUndefined()
  expect(await trial.store.remove('run_nobody')).toBe(false)
}

async function answersKnownKey(trial: Trial): Promise<void> {
  const idempotency = { key: 'key-ü', fingerprint: 'body-1' }
  expect(await trial.store.findByKey(trial.newRun().run.owner, 'key-ü')).toBeUndefined()
  const first = await trial.start({ idempotency })
  const found = await trial.store.findByKey(first.run.owner, 'key-ü')
  expect(found).toEqual({ stored: await trial.store.get(first.id), fingerprint: 'body-1' })
  expect(await trial.store.findByKey('somebody else', 'key-ü')).toBeUndefined()
  const again = await trial.store.create(trial.newRun({ idempotency }))
  expect(again.kind).toBe('existing')
  expect(again.stored).toEqual(await trial.store.get(first.id))
  const other = await trial.store.create(trial.newRun({ idempotency: { key: 'key-u', fingerprint: 'body-1' } }))
  expect(other.kind).toBe('created')
  expect((await trial.store.list({ limit: 10 })).runs).toHaveLength(2)
}

async function createsOncePerKey(trial: Trial): Promise<void> {
  const idempotency = { key: 'one', fingerprint: 'body' }
  const answers = await createAtOnce(trial, () => trial.newRun({ idempotency }))
  expect(kindsOf(answers)).toEqual({ created: 1, existing: CONCURRENT - 1 })
  expect(new Set(answers.map((answer) => answer.stored.run.id)).size).toBe(1)
  expect((await trial.store.list({ limit: 100 })).runs).toHaveLength(1)
  expect(await readPages(trial.store, answers[0]!.stored.run.id)).toHaveLength(1)
}

async function refusesOtherBody(trial: Trial): Promise<void> {
  const first = await trial.start({ idempotency: { key: 'one', fingerprint: 'body-1' } })
  const other = trial.newRun({ idempotency: { key: 'one', fingerprint: 'body-2' } })
  const answer = await trial.store.create(other)
  expect(answer.kind).toBe('key_conflict')
  expect(answer.stored.run.id).toBe(first.id)
  expect(await trial.store.get(other.run.id)).toBeUndefined()
  await expectLog(trial.store, first.id, first.records)
}

async function racesTwoBodies(trial: Trial): Promise<void> {
  const answers = await createAtOnce(trial, (index) =>
    trial.newRun({ idempotency: { key: 'one', fingerprint: `body-${index % 2}` } }),
  )
  const half = CONCURRENT / 2
  expect(kindsOf(answers)).toEqual({ created: 1, existing: half - 1, key_conflict: half })
  expect((await trial.store.list({ limit: 100 })).runs).toHaveLength(1)
}

async function keepsOwnersApart(trial: Trial): Promise<void> {
  // Naive joining would make owner and key of the last two equal.
  const pairs = [
    ['anna', 'k'],
    ['bert', 'k'],
    ['anna:x', 'k'],
    ['anna', 'x:k'],
  ] as const
  const ids = new Set<string>()
  for (const [owner, key] of pairs) {
    const created = await trial.store.create(trial.newRun({ owner, idempotency: { key, fingerprint: owner } }))
    expect(created.kind, `${owner} ${key}`).toBe('created')
    ids.add(created.stored.run.id)
  }
  expect(ids.size).toBe(pairs.length)
}

async function keepsKeyAsLongAsRun(trial: Trial): Promise<void> {
  const idempotency = { key: 'one', fingerprint: 'body' }
  const first = await trial.finish({ idempotency })
  const again = await trial.store.create(trial.newRun({ idempotency }))
  expect(again).toMatchObject({ kind: 'existing', stored: { run: { id: first.id, status: 'completed' } } })
  expect(await trial.store.remove(first.id)).toBe(true)
  const anew = await trial.store.create(trial.newRun({ idempotency }))
  expect(anew.kind).toBe('created')
  expect(anew.stored.run.id).not.toBe(first.id)
}

async function asksKeyBeforeLane(trial: Trial): Promise<void> {
  const options = { lane: 'lane-1', rejectIfBusy: true, idempotency: { key: 'one', fingerprint: 'body' } }
  const first = await trial.start(options)
  const again = await trial.store.create(trial.newRun(options))
  expect(again).toMatchObject({ kind: 'existing', stored: { run: { id: first.id } } })
}

async function removesFinished(trial: Trial): Promise<void> {
  const [removed, kept] = [await trial.finish(), await trial.finish()]
  expect(await trial.store.remove(removed.id)).toBe(true)
  expect(await trial.store.get(removed.id)).toBeUndefined()
  expect(await refusalOf(() => trial.store.read(removed.id, -1, 1000))).toBe('not_found')
  expect((await trial.store.list({ limit: 10 })).runs.map((stored) => stored.run.id)).toEqual([kept.id])
  expect(await trial.store.remove(removed.id)).toBe(false)
  await expectLog(trial.store, kept.id, kept.records)
}

async function refusesToRemoveUnfinished(trial: Trial): Promise<void> {
  const waiting = (await trial.create()).run.id
  const running = await trial.start()
  const paused = await trial.start()
  paused.pause()
  await paused.flush()
  for (const id of [waiting, running.id, paused.id]) {
    expect(await refusalOf(() => trial.store.remove(id))).toBe('conflict')
    expect(await trial.store.get(id)).toBeDefined()
  }
  await expectLog(trial.store, paused.id, paused.records)
}

function createAtOnce(trial: Trial, draft: (index: number) => NewRun): Promise<CreateResult[]> {
  return Promise.all(Array.from({ length: CONCURRENT }, (_, index) => trial.store.create(draft(index))))
}

function kindsOf(answers: readonly CreateResult[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { kind } of answers) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}
