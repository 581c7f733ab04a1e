/** Storage usage per owner, after everything that changes it. */
import { expect } from 'vitest'
import { SESSIONS } from '../../core/model/document.ts'
import { type OwnerUsage, storedBytes } from '../../core/model/storage-usage.ts'
import type { RunWriter } from '../fixtures.ts'
import { draft } from './documents.ts'
import type { ConformanceSection } from './target.ts'
import type { Trial } from './trial.ts'

const KiB = 1024
/** Overhead that a store may count for a run besides its records. */
const SLACK = 8 * KiB

export const usageSection: ConformanceSection = {
  name: 'usage',
  cases: [
    { name: 'runs, records and documents count for their owner alone', run: countsPerOwner },
    { name: 'an owner with nothing stored counts nothing', run: countsNothing },
    { name: 'a document that is replaced counts once, with its last body', run: countsLastBody },
    { name: 'trimmed and removed data no longer counts', run: givesBack },
    { name: 'a run that is trimmed while it is executed counts what is left of it', run: givesBackOfRunning },
    { name: 'owners are listed by bytes, and the total covers all', run: ordersOwners },
    { name: 'finished runs of an owner come oldest first, page by page, with their bytes', run: pagesFinished },
  ],
}

export const usageRecoverySection: ConformanceSection = {
  name: 'recovery of usage',
  needsReopen: true,
  cases: [{ name: 'usage per owner is the same after a reopen', run: survivesReopen }],
}

/** A finished run with a log of about this many bytes. */
async function finished(trial: Trial, owner: string, bytes: number, session = 's-1'): Promise<RunWriter> {
  const runWriter = await trial.start({ owner, session })
  for (let written = 0; written < bytes; written += 8 * KiB) runWriter.text('u'.repeat(8 * KiB))
  runWriter.complete()
  await runWriter.flush()
  trial.clock.advance(10)
  return runWriter
}

function bytesOf(runWriter: RunWriter): number {
  return runWriter.records.reduce((sum, record) => sum + Buffer.byteLength(record), 0)
}

/** Bytes may be counted some time after they are durable. */
async function expectLogBytes(trial: Trial, owner: string, runWriters: readonly RunWriter[]): Promise<void> {
  const bytes = runWriters.reduce((sum, runWriter) => sum + bytesOf(runWriter), 0)
  await trial.eventually(async () => {
    const { logBytes } = await trial.store.usage.of(owner)
    expect(logBytes).toBeGreaterThanOrEqual(bytes)
    expect(logBytes).toBeLessThan(bytes + runWriters.length * SLACK)
  })
}

async function countsPerOwner(trial: Trial): Promise<void> {
  const large = [await finished(trial, 'owner-1', 128 * KiB), await finished(trial, 'owner-1', 64 * KiB, 's-2')]
  const small = await finished(trial, 'owner-2', 16 * KiB)
  await trial.store.documents.put(draft({ owner: 'owner-2', body: 'é'.repeat(50) }))
  await expectLogBytes(trial, 'owner-1', large)
  await expectLogBytes(trial, 'owner-2', [small])
  const sessionBytes = Buffer.byteLength('{}')
  expect(await trial.store.usage.of('owner-1')).toMatchObject({
    owner: 'owner-1',
    runs: 2,
    documents: 2,
    documentBytes: 2 * sessionBytes,
  })
  expect(await trial.store.usage.of('owner-2')).toMatchObject({
    owner: 'owner-2',
    runs: 1,
    documents: 2,
    documentBytes: sessionBytes + 102,
  })
}

async function countsNothing(trial: Trial): Promise<void> {
  const nothing = { owner: 'owner-1', runs: 0, logBytes: 0, documents: 0, documentBytes: 0 }
  expect(await trial.store.usage.of('owner-1')).toEqual(nothing)
  expect(await trial.store.usage.total()).toBe(0)
  const runWriter = await finished(trial, 'owner-1', 8 * KiB)
  expect(await trial.store.usage.of('owner-1')).toMatchObject({ runs: 1, documents: 1 })
  await trial.store.remove(runWriter.id)
  await trial.store.documents.remove('owner-1', SESSIONS, 's-1')
  expect(await trial.store.usage.of('owner-1')).toEqual(nothing)
  expect(await trial.store.usage.largest(10)).toEqual([])
}

async function countsLastBody(trial: Trial): Promise<void> {
  for (const length of [1000, 5000, 10]) await trial.store.documents.put(draft({ body: 'x'.repeat(length) }))
  expect(await trial.store.documents.put(draft({ body: 'x'.repeat(999) }), 1)).toBeUndefined()
  await trial.create({ session: 's-1' })
  await trial.create({ session: 's-1' })
  expect(await trial.store.usage.of('owner-1')).toMatchObject({ documents: 2, documentBytes: 12 + 2, runs: 2 })
}

async function givesBack(trial: Trial): Promise<void> {
  const trimmed = await finished(trial, 'owner-1', 128 * KiB)
  const removed = await finished(trial, 'owner-1', 128 * KiB)
  await expectLogBytes(trial, 'owner-1', [trimmed, removed])
  await trial.store.trim(trimmed.id, trimmed.records.length)
  await trial.store.remove(removed.id)
  await trial.store.documents.remove('owner-1', SESSIONS, 's-1')
  await trial.eventually(async () => {
    const usage = await trial.store.usage.of('owner-1')
    expect(usage).toMatchObject({ runs: 1, documents: 0, documentBytes: 0 })
    expect(usage.logBytes).toBeGreaterThan(0)
    expect(usage.logBytes).toBeLessThan(SLACK)
  })
}

/** A store may trim whole blocks only, and estimate what is left in one. */
async function givesBackOfRunning(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  for (let count = 0; count < 32; count++) {
    runWriter.text('u'.repeat(8 * KiB))
    if (count % 4 === 3) await runWriter.flush()
  }
  await expectLogBytes(trial, 'owner-1', [runWriter])
  await trial.store.trim(runWriter.id, runWriter.records.length - 8)
  const kept = 8 * 8 * KiB
  await trial.eventually(async () => {
    const { logBytes } = await trial.store.usage.of('owner-1')
    expect(logBytes).toBeGreaterThan(kept / 2)
    expect(logBytes).toBeLessThan(2 * kept + SLACK)
  })
}

async function ordersOwners(trial: Trial): Promise<void> {
  await trial.store.documents.put(draft({ owner: 'owner-a', body: 'x'.repeat(1000) }))
  await trial.store.documents.put(draft({ owner: 'owner-b', body: 'x'.repeat(100_000) }))
  await finished(trial, 'owner-c', 32 * KiB)
  await trial.eventually(async () => {
    const all = await trial.store.usage.largest(10)
    expect(all.map(({ owner }) => owner)).toEqual(['owner-b', 'owner-c', 'owner-a'])
    expect(storedBytes(all[1]!)).toBeGreaterThan(32 * KiB)
    expect(await trial.store.usage.total()).toBe(all.reduce((sum, usage) => sum + storedBytes(usage), 0))
  })
  expect((await trial.store.usage.largest(2)).map(({ owner }) => owner)).toEqual(['owner-b', 'owner-c'])
}

async function pagesFinished(trial: Trial): Promise<void> {
  const runWriters = [
    await finished(trial, 'owner-1', 8 * KiB),
    await finished(trial, 'owner-1', 64 * KiB),
    await finished(trial, 'owner-1', 8 * KiB),
  ]
  await finished(trial, 'owner-2', 8 * KiB)
  await trial.start({ owner: 'owner-1' })
  await trial.eventually(async () => {
    const page = await trial.store.usage.finishedRuns('owner-1', 2)
    expect(page.map(({ stored }) => stored.run.id)).toEqual([runWriters[0]!.id, runWriters[1]!.id])
    const last = page.at(-1)!
    expect(last.bytes).toBeGreaterThanOrEqual(bytesOf(runWriters[1]!))
    expect(last.bytes).toBeLessThan(bytesOf(runWriters[1]!) + SLACK)
    const rest = await trial.store.usage.finishedRuns('owner-1', 2, last.stored.run)
    expect(rest.map(({ stored }) => stored.run.id)).toEqual([runWriters[2]!.id])
  })
}

async function survivesReopen(trial: Trial): Promise<void> {
  const kept = await finished(trial, 'owner-1', 64 * KiB)
  const removed = await finished(trial, 'owner-1', 64 * KiB, 's-2')
  const trimmed = await finished(trial, 'owner-1', 64 * KiB)
  await trial.store.documents.put(draft({ body: 'x'.repeat(1000) }))
  await trial.store.documents.put(draft({ id: 'note-2' }))
  await trial.store.documents.remove('owner-1', 'notes', 'note-2')
  await trial.store.remove(removed.id)
  await trial.store.trim(trimmed.id, trimmed.records.length)
  await trial.reopen()
  await trial.eventually(async () => {
    const usage: OwnerUsage = await trial.store.usage.of('owner-1')
    expect(usage).toMatchObject({ runs: 2, documents: 3, documentBytes: 1002 + 2 * 2 })
    expect(usage.logBytes).toBeGreaterThanOrEqual(bytesOf(kept))
    expect(usage.logBytes).toBeLessThan(bytesOf(kept) + 2 * SLACK)
  })
}
