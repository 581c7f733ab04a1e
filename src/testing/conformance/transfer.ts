/** Store transfer: a store exports everything it holds, and keeps what it imports unchanged. */
import { expect } from 'vitest'
import { SESSIONS, type Document } from '../../core/model/document.ts'
import type { Event } from '../../core/model/event.ts'
import type { DocumentName, TransferredRun } from '../../core/ports/store-transfer.ts'
import { reduce, type Run } from '../../core/model/run.ts'
import type { Store, StoredRun, StopRequest } from '../../core/ports/store.ts'
import { type NewRunOptions, recordOf } from '../fixtures.ts'
import { draft } from './documents.ts'
import { expectLog, refusalOf } from './reading.ts'
import type { ConformanceSection } from './target.ts'
import { TTL_MS, type Trial } from './trial.ts'

export const movingSection: ConformanceSection = {
  name: 'moving',
  cases: [
    { name: 'all runs are exported oldest first, each with its key', run: givesRuns },
    { name: 'all documents of all owners and collections are exported', run: givesDocuments },
    { name: 'owners count as workers until their leases expire', run: knowsWorkers },
    { name: 'an imported run and its log are unchanged', run: admitsWhole },
    { name: '[SUB-2] a trimmed log keeps its first index', run: admitsTrimmed },
    { name: '[LOG-3] a finished run is imported with its last record only, and closed', run: admitsFinished },
    {
      name: '[RUN-1] an imported run continues: a running one is claimable, a paused one waits',
      run: admitsUnfinished,
    },
    { name: '[LOG-4] a claim fences an import that is still writing', run: fencesMovers },
    { name: 'an imported run keeps its lane position', run: keepsLanes },
    { name: '[RUN-4] an id or a key in use is refused, and nothing changes', run: refusesKnown },
    { name: 'an imported run touches no session', run: touchesNothing },
    { name: 'an imported document keeps its version and its times', run: admitsDocuments },
  ],
}

export const movedRecoverySection: ConformanceSection = {
  name: 'recovery of what was moved',
  needsReopen: true,
  cases: [{ name: 'imported data survives a reopen', run: keepsAdmitted }],
}

const EPOCH = 3
const STOP: StopRequest = { at: '2026-01-01T00:00:00.000Z', reason: 'enough', by: 'somebody' }
const STARTED: Event = { type: 'run.started', data: { attempt: 1 } }
const TEXTS = ['Once upon a time', 'ü🌊', 'a\u0000b'].map((text): Event => ({ type: 'text.delta', data: { text } }))
const COMPLETED: Event = { type: 'run.completed', data: { output: 'The end.' } }
const PAUSED: Event = { type: 'run.paused', data: { questions: [{ id: 'q-1', kind: 'input', prompt: 'And then?' }] } }

/** A run of another store, with its records. */
interface TransferredLog {
  readonly run: Run
  readonly records: readonly string[]
  readonly idempotency: TransferredRun['idempotency'] | undefined
}

function moved(trial: Trial, events: readonly Event[], options: NewRunOptions = {}): TransferredLog {
  const { run: created, record, idempotency } = trial.newRun(options)
  const time = trial.clock.iso()
  const records = [record]
  let run = created
  for (const event of events) {
    const index = records.length
    records.push(recordOf(run.id, index, time, event))
    run = reduce(run, { ...event, run: run.id, index, time })
  }
  return { run, records, idempotency }
}

/** Imports like the transfer does: the run is paused until its last record sets its real status. */
async function moveIn(
  store: Store,
  { run, records, idempotency }: TransferredLog,
  first = 0,
  stop?: StopRequest,
): Promise<void> {
  const last = records.length - 1
  const head: StoredRun = {
    run: first === last ? run : { ...run, status: 'paused', waiting: [] },
    first,
    next: first + 1,
    epoch: EPOCH,
    ...(stop && { stop }),
  }
  await store.transfer.admit({ stored: head, ...(idempotency && { idempotency }) }, records[first]!)
  if (first === last) return
  const writer = store.writer(run.id, { epoch: EPOCH, next: first + 1 })
  for (let index = first + 1; index <= last; index++) writer.append(records[index]!, index === last ? run : undefined)
  await writer.flush()
}

async function givesRuns(trial: Trial): Promise<void> {
  const first = await trial.finish({ idempotency: { key: 'key-1', fingerprint: 'body-1' } })
  trial.clock.advance(10)
  const ids = [first.id, ...(await Promise.all([1, 2, 3, 4].map(() => trial.create()))).map(({ run }) => run.id)]
  await trial.store.requestStop(ids[2]!, STOP)
  await trial.store.trim(first.id, 2)
  const given: TransferredRun[] = []
  for (let pages = 0; pages < 10; pages++) {
    const page = await trial.store.transfer.runs(2, given.at(-1)?.stored.run)
    expect(page.length).toBeLessThanOrEqual(2)
    given.push(...page)
  }
  expect(given.map(({ stored }) => stored.run.id)).toEqual(ids)
  for (const { stored } of given) expect(stored).toEqual(await trial.store.get(stored.run.id))
  expect(given.map(({ idempotency }) => idempotency)).toEqual([
    { key: 'key-1', fingerprint: 'body-1' },
    ...Array.from({ length: 4 }, () => undefined),
  ])
}

async function givesDocuments(trial: Trial): Promise<void> {
  await trial.create()
  for (const owner of ['owner-1', 'owner-2'])
    for (const collection of ['notes', 'pushes'])
      for (const id of ['b', 'a', 'ä']) await trial.store.documents.put(draft({ owner, collection, id, title: id }))
  const given: Document[] = []
  for (let pages = 0; pages < 10; pages++)
    given.push(...(await trial.store.transfer.documents(2, nameOf(given.at(-1)))))
  expect(new Set(given.map((each) => JSON.stringify(nameOf(each)))).size).toBe(13)
  expect(given).toHaveLength(13)
  for (const each of given) expect(await trial.store.documents.get(each.owner, each.collection, each.id)).toEqual(each)
}

function nameOf(document: Document | undefined): DocumentName | undefined {
  return document && { owner: document.owner, collection: document.collection, id: document.id }
}

async function knowsWorkers(trial: Trial): Promise<void> {
  expect(await trial.store.transfer.workers()).toEqual([])
  await trial.start()
  expect(await trial.store.transfer.workers()).toEqual(['worker-1'])
  if (trial.store.capabilities.shared) {
    await trial.store.renew('worker-2', TTL_MS)
    expect(new Set(await trial.store.transfer.workers())).toEqual(new Set(['worker-1', 'worker-2']))
  }
  trial.expireLeases()
  expect(await trial.store.transfer.workers()).toEqual([])
}

async function admitsWhole(trial: Trial): Promise<void> {
  const idempotency = { key: 'key-ü', fingerprint: 'body' }
  const run = moved(trial, [STARTED, ...TEXTS, COMPLETED], { idempotency, metadata: { plan: [1] }, protocol: 'native' })
  await moveIn(trial.store, run, 0, STOP)
  const stored = await trial.store.get(run.run.id)
  expect(stored).toEqual({ run: run.run, first: 0, next: run.records.length, epoch: EPOCH, stop: STOP })
  expect(await trial.store.findByKey(run.run.owner, 'key-ü')).toEqual({ stored, fingerprint: 'body' })
  await expectLog(trial.store, run.run.id, run.records)
  expect((await trial.store.read(run.run.id, -1, 100_000))?.closed).toBe(true)
  expect((await trial.store.list({ limit: 10, status: ['completed'] })).runs).toEqual([stored])
  expect(await refusalOf(() => appendTo(trial.store, stored!, 'late'))).toBe('closed')
}

async function appendTo(store: Store, { run, epoch, next }: StoredRun, record: string): Promise<void> {
  const writer = store.writer(run.id, { epoch, next })
  writer.append(record)
  await writer.flush()
}

async function admitsTrimmed(trial: Trial): Promise<void> {
  const run = moved(trial, [STARTED, ...TEXTS, COMPLETED])
  await moveIn(trial.store, run, 3)
  expect(await trial.store.get(run.run.id)).toMatchObject({ first: 3, next: run.records.length })
  expect(await refusalOf(() => trial.store.read(run.run.id, -1, 1000))).toBe('cursor_expired')
  await expectLog(trial.store, run.run.id, run.records, 3)
  await trial.store.trim(run.run.id, 4)
  await expectLog(trial.store, run.run.id, run.records, 4)
}

async function admitsFinished(trial: Trial): Promise<void> {
  const run = moved(trial, [STARTED, ...TEXTS, COMPLETED], { lane: 'lane-1' })
  const last = run.records.length - 1
  await moveIn(trial.store, run, last)
  const stored = await trial.store.get(run.run.id)
  expect(stored).toEqual({ run: run.run, first: last, next: last + 1, epoch: EPOCH })
  await expectLog(trial.store, run.run.id, run.records, last)
  expect(await trial.store.claimable(10)).toEqual([])
  expect(await refusalOf(() => appendTo(trial.store, stored!, 'late'))).toBe('closed')
  const next = await trial.store.create(trial.newRun({ lane: 'lane-1', rejectIfBusy: true }))
  expect(next.kind).toBe('created')
  expect(await trial.store.remove(run.run.id)).toBe(true)
}

async function admitsUnfinished(trial: Trial): Promise<void> {
  const [queued, running] = [moved(trial, []), moved(trial, [STARTED, ...TEXTS])]
  const paused = moved(trial, [STARTED, PAUSED])
  for (const run of [queued, running, paused]) await moveIn(trial.store, run)
  const claimable = await trial.store.claimable(10)
  expect(new Set(claimable)).toEqual(new Set([queued.run.id, running.run.id]))
  expect(await trial.store.queued()).toBe(1)
  for (const { run } of [queued, running]) {
    const claim = await trial.store.claim(run.id, 'worker-1', TTL_MS)
    expect(claim).toMatchObject({ run, epoch: EPOCH + 1, lease: { worker: 'worker-1' } })
  }
  const runWriter = await trial.takeOver(paused.run.id, 'worker-1', { paused: true })
  runWriter.resume()
  runWriter.complete()
  await runWriter.flush()
  await expectLog(trial.store, paused.run.id, runWriter.records)
}

async function fencesMovers(trial: Trial): Promise<void> {
  const run = moved(trial, [STARTED])
  await moveIn(trial.store, run)
  const stored = (await trial.store.get(run.run.id))!
  const claim = await trial.store.claim(run.run.id, 'worker-1', TTL_MS)
  expect(claim?.epoch).toBe(EPOCH + 1)
  expect(
    await refusalOf(() => appendTo(trial.store, stored, recordOf(run.run.id, 2, trial.clock.iso(), TEXTS[0]!))),
  ).toBe('fenced')
  await expectLog(trial.store, run.run.id, run.records)
}

async function keepsLanes(trial: Trial): Promise<void> {
  const [first, second] = [moved(trial, [STARTED], { lane: 'lane-1' }), moved(trial, [], { lane: 'lane-1' })]
  await moveIn(trial.store, first)
  await moveIn(trial.store, second)
  expect(await trial.store.claimable(10)).toEqual([first.run.id])
  expect((await trial.store.create(trial.newRun({ lane: 'lane-1', rejectIfBusy: true }))).kind).toBe('busy')
  const runWriter = await trial.takeOver(first.run.id)
  runWriter.complete()
  await runWriter.flush()
  expect(await trial.store.claimable(10)).toEqual([second.run.id])
}

async function refusesKnown(trial: Trial): Promise<void> {
  const { id, records } = await trial.finish({ idempotency: { key: 'one', fingerprint: 'body' } })
  const before = await trial.store.get(id)
  const other = moved(trial, [STARTED, COMPLETED], { idempotency: { key: 'one', fingerprint: 'body' } })
  expect(await refusalOf(() => moveIn(trial.store, other))).toBe('conflict')
  expect(await trial.store.get(other.run.id)).toBeUndefined()
  const same = moved(trial, [STARTED, COMPLETED])
  expect(await refusalOf(() => moveIn(trial.store, { ...same, run: { ...same.run, id } }))).toBe('conflict')
  expect(await trial.store.get(id)).toEqual(before)
  await expectLog(trial.store, id, records)
}

async function touchesNothing(trial: Trial): Promise<void> {
  const { run } = await trial.create()
  trial.clock.advance(10)
  await moveIn(trial.store, moved(trial, [STARTED, COMPLETED]))
  await moveIn(trial.store, moved(trial, [STARTED, COMPLETED], { session: 'session-2' }))
  const { documents } = await trial.store.documents.list({ collection: SESSIONS, limit: 10 })
  expect(documents.map(({ id, updatedAt }) => [id, updatedAt])).toEqual([['session-1', run.createdAt]])
}

async function admitsDocuments(trial: Trial): Promise<void> {
  const [createdAt, updatedAt] = ['2020-01-01T00:00:00.000Z', '2021-01-01T00:00:00.000Z']
  const given: Document = { ...draft({ label: 'x', title: 'É' }), version: 7, createdAt, updatedAt }
  const { owner, collection, id } = given
  expect(await trial.store.transfer.admitDocument(given)).toBe(true)
  expect(await trial.store.documents.get(owner, collection, id)).toEqual(given)
  expect((await trial.store.documents.list({ collection, title: 'é', limit: 10 })).documents).toEqual([given])
  expect(await trial.store.transfer.admitDocument({ ...given, body: 'another' })).toBe(false)
  expect(await trial.store.documents.get(owner, collection, id)).toEqual(given)
  expect(await trial.store.documents.put(draft(), 7)).toMatchObject({ version: 8, createdAt })
}

async function keepsAdmitted(trial: Trial): Promise<void> {
  const finished = moved(trial, [STARTED, ...TEXTS, COMPLETED], { idempotency: { key: 'one', fingerprint: 'body' } })
  const running = moved(trial, [STARTED, ...TEXTS])
  await moveIn(trial.store, finished, 2)
  await moveIn(trial.store, running, 1, STOP)
  const document: Document = { ...draft(), version: 7, createdAt: trial.clock.iso(), updatedAt: trial.clock.iso() }
  await trial.store.transfer.admitDocument(document)
  const look = async () => ({
    runs: await trial.store.transfer.runs(10),
    documents: await trial.store.transfer.documents(10),
    claimable: await trial.store.claimable(10),
  })
  const before = await look()
  await trial.reopen()
  expect(await look()).toEqual(before)
  expect([before.runs.length, before.documents.length, before.claimable.length]).toEqual([2, 1, 1])
  await expectLog(trial.store, finished.run.id, finished.records, 2)
  await expectLog(trial.store, running.run.id, running.records, 1)
}
