/** Stored data after a kill and a reopen. */
import { expect } from 'vitest'
import { lastOf } from '../../core/model/slice.ts'
import { RunWriter } from '../fixtures.ts'
import { expectLog, expectSameBytes, readBytes, readRecords, refusalOf } from './reading.ts'
import type { ConformanceSection } from './target.ts'
import { TTL_MS, type Trial } from './trial.ts'

export const reopenSection: ConformanceSection = {
  name: 'recovery',
  needsReopen: true,
  cases: [
    { name: 'a store that can be reopened reports that it is durable', run: saysDurable },
    { name: '[LOG-5] flushed records survive a reopen byte for byte', run: keepsFlushed },
    { name: '[LOG-1] unflushed records survive as a prefix, never with a gap', run: keepsPrefix },
    { name: '[LOG-2] records that were visible before a kill survive it', run: keepsVisible },
    { name: '[LOG-1] an unacknowledged create is atomic', run: createsWholly },
    { name: 'runs, their changes and their listing survive a reopen', run: keepsRuns },
    { name: '[LOG-4] epochs survive a reopen: the old owner stays fenced, the new one continues', run: keepsEpochs },
    {
      name: '[RUN-1] a leased run is claimable after a reopen once its lease expired or its owner died',
      run: keepsLeases,
    },
    { name: '[LOG-3] a closed log stays closed after a reopen', run: staysClosed },
    { name: '[RUN-4] idempotency keys survive a reopen', run: keepsKeys },
    { name: '[RUN-2] stop requests survive a reopen', run: keepsStops },
    { name: 'lanes survive a reopen', run: keepsLanes },
    { name: '[SUB-2] trimmed and removed data stays so after a reopen', run: keepsTrimmed },
    {
      name: '[LOG-1] [LOG-5] a run created after others were removed and the store reopened has its own records only',
      run: sharesNothingWithRemoved,
    },
    { name: 'hints work after a reopen', run: hintsAgain },
    { name: '[LOG-5] a log written across many reopens is contiguous', run: survivesManyReopens },
  ],
}

async function saysDurable(trial: Trial): Promise<void> {
  expect(trial.store.capabilities.durable).toBe(true)
  await trial.reopen()
  expect(trial.store.capabilities.durable).toBe(true)
  expect(trial.store.health()).toEqual({ ok: true })
}

async function keepsFlushed(trial: Trial): Promise<void> {
  const runWriters = await Promise.all(Array.from({ length: 10 }, () => trial.start()))
  for (let round = 0; round < 20; round++) {
    for (const runWriter of runWriters) runWriter.text(`${runWriter.id} 🌊 e\u0301 \ud800 ${'x'.repeat(round * 100)}`)
    await Promise.all(runWriters.map((runWriter) => runWriter.flush()))
  }
  runWriters[0]!.text('y'.repeat(1024 * 1024))
  await runWriters[0]!.flush()
  await trial.reopen()
  for (const runWriter of runWriters) {
    for (const maxBytes of [1, 1000, 256 * 1024]) {
      expectSameBytes(await readBytes(trial.store, runWriter.id, { maxBytes }), runWriter.records)
    }
  }
}

async function keepsPrefix(trial: Trial): Promise<void> {
  const runWriters = await Promise.all(Array.from({ length: 10 }, () => trial.start()))
  for (const runWriter of runWriters) for (let index = 0; index < 20; index++) runWriter.text(`flushed ${index}`)
  await Promise.all(runWriters.map((runWriter) => runWriter.flush()))
  const flushed = runWriters[0]!.records.length
  for (let index = 0; index < 50; index++) for (const runWriter of runWriters) runWriter.text(`not flushed ${index}`)
  for (const runWriter of runWriters) runWriter.complete()
  await trial.reopen()
  for (const runWriter of runWriters) {
    const stored = (await trial.store.get(runWriter.id))!
    expect(stored.next).toBeGreaterThanOrEqual(flushed)
    expect(stored.next).toBeLessThanOrEqual(runWriter.records.length)
    await expectLog(trial.store, runWriter.id, runWriter.records.slice(0, stored.next))
    expect(stored.run.status).toBe(stored.next === runWriter.records.length ? 'completed' : 'running')
  }
}

async function keepsVisible(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  let seen = runWriter.records.length
  trial.store.watch(runWriter.id, (hint) => {
    seen = Math.max(seen, hint.next)
  })
  for (let round = 0; round < 10; round++) {
    for (let index = 0; index < 20; index++) runWriter.text(`${round}.${index} `)
    const page = await trial.store.read(runWriter.id, seen - 1, 256 * 1024)
    if (page !== undefined) seen = Math.max(seen, lastOf(page) + 1)
    seen = Math.max(seen, (await trial.store.get(runWriter.id))!.next)
  }
  await trial.reopen()
  const { next } = (await trial.store.get(runWriter.id))!
  expect(next).toBeGreaterThanOrEqual(seen)
  await expectLog(trial.store, runWriter.id, runWriter.records.slice(0, next))
}

async function createsWholly(trial: Trial): Promise<void> {
  const drafts = Array.from({ length: 20 }, (_, index) =>
    trial.newRun({ idempotency: { key: `key-${index}`, fingerprint: 'body' } }),
  )
  const answered = new Set<string>()
  const creating = drafts.map((draft) =>
    trial.store.create(draft).then(
      () => answered.add(draft.run.id),
      () => undefined,
    ),
  )
  await Promise.race(creating)
  const sure = [...answered]
  await trial.reopen()
  for (const id of sure) expect(await trial.store.get(id)).toBeDefined()
  for (const draft of drafts) {
    const stored = await trial.store.get(draft.run.id)
    if (stored !== undefined) await expectLog(trial.store, draft.run.id, [draft.record])
    // Run and key are atomic: repeating the start returns the same run, or creates it.
    const again = await trial.store.create(draft)
    expect(again.kind).toBe(stored === undefined ? 'created' : 'existing')
  }
}

async function keepsRuns(trial: Trial): Promise<void> {
  const options = { metadata: { ключ: [1, { deep: null }] }, protocol: 'native', session: 's-2' }
  const paused = await trial.start(options)
  paused.pause()
  const failed = await trial.start(options)
  failed.append({ type: 'run.failed', data: { error: { code: 'agent_failed', message: '🙁', details: { n: 1 } } } })
  await Promise.all([paused.flush(), failed.flush()])
  await trial.create()
  const before = await trial.store.list({ limit: 100 })
  const cut = await trial.store.list({ limit: 2 })
  await trial.reopen()
  expect((await trial.store.list({ limit: 100 })).runs).toEqual(before.runs)
  expect((await trial.store.list({ limit: 2, after: cut.cursor! })).runs).toEqual(before.runs.slice(2))
  for (const stored of before.runs) expect(await trial.store.get(stored.run.id)).toEqual(stored)
}

async function keepsEpochs(trial: Trial): Promise<void> {
  const zombie = await trial.start()
  const { epoch } = zombie
  await trial.reopen()
  trial.expireLeases()
  const successor = await trial.takeOver(zombie.id)
  expect(successor.epoch).toBeGreaterThan(epoch)
  const claim = { run: zombie.run, first: 0, next: successor.writer.next, epoch }
  const late = new RunWriter(trial.store, trial.clock, claim, zombie.records)
  const refusal = await refusalOf(async () => {
    late.text('late')
    await late.flush()
  })
  expect(refusal).toBe('fenced')
  successor.text('mine')
  successor.complete()
  await successor.flush()
  await expectLog(trial.store, successor.id, successor.records)
}

async function keepsLeases(trial: Trial): Promise<void> {
  const held = await trial.start()
  const released = await trial.start()
  await trial.store.release(released.id, released.epoch)
  const { lease } = (await trial.store.get(held.id))!
  await trial.reopen()
  if (trial.target.leasesSurviveReopen ?? true) {
    expect((await trial.store.get(held.id))?.lease).toEqual(lease)
    expect(await trial.store.claimable(10)).toEqual([released.id])
    expect(await trial.store.claim(held.id, 'worker-2', TTL_MS)).toBeUndefined()
    expect(await trial.store.renew('worker-1', TTL_MS)).toMatchObject([{ id: held.id }])
    trial.expireLeases()
  }
  expect(await trial.store.claimable(10)).toEqual([held.id, released.id])
  expect(await trial.store.claim(held.id, 'worker-2', TTL_MS)).toMatchObject({ epoch: 2, next: 2 })
}

async function staysClosed(trial: Trial): Promise<void> {
  const runWriter = await trial.finish()
  await trial.reopen()
  const { epoch, next } = (await trial.store.get(runWriter.id))!
  const writer = trial.store.writer(runWriter.id, { epoch, next })
  const refusal = await refusalOf(async () => {
    writer.append(runWriter.records.at(-1)!, runWriter.run)
    await writer.flush()
  })
  expect(refusal).toBe('closed')
  trial.expireLeases()
  expect(await trial.store.claim(runWriter.id, 'worker-2', TTL_MS, { paused: true })).toBeUndefined()
  expect((await trial.store.read(runWriter.id, next - 2, 1))?.closed).toBe(true)
  await expectLog(trial.store, runWriter.id, runWriter.records)
}

async function keepsKeys(trial: Trial): Promise<void> {
  const idempotency = { key: 'one', fingerprint: 'body-1' }
  const [running, finished] = [
    await trial.start({ idempotency }),
    await trial.finish({ owner: 'owner-2', idempotency }),
  ]
  await trial.reopen()
  const ask = (owner: string, fingerprint: string) =>
    trial.store.create(trial.newRun({ owner, idempotency: { key: 'one', fingerprint } }))
  expect(await ask('owner-1', 'body-1')).toMatchObject({ kind: 'existing', stored: { run: { id: running.id } } })
  expect(await ask('owner-2', 'body-1')).toMatchObject({ kind: 'existing', stored: { run: { id: finished.id } } })
  expect(await ask('owner-1', 'body-2')).toMatchObject({ kind: 'key_conflict', stored: { run: { id: running.id } } })
  expect((await ask('owner-3', 'body-1')).kind).toBe('created')
}

async function keepsStops(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  const stop = { at: trial.clock.iso(), reason: 'enough', by: 'anna' }
  await trial.store.requestStop(runWriter.id, stop)
  await trial.reopen()
  expect((await trial.store.get(runWriter.id))?.stop).toEqual(stop)
  const again = await trial.store.requestStop(runWriter.id, { at: trial.clock.iso(), by: 'bert' })
  expect(again?.stop).toEqual(stop)
}

async function keepsLanes(trial: Trial): Promise<void> {
  const executing = await trial.start({ lane: 'lane-1' })
  const waiting = await trial.create({ lane: 'lane-1' })
  await trial.reopen()
  trial.expireLeases()
  expect(await trial.store.claimable(10)).toEqual([executing.id])
  expect(await trial.store.claim(waiting.run.id, 'worker-2', TTL_MS)).toBeUndefined()
  expect((await trial.store.create(trial.newRun({ lane: 'lane-1', rejectIfBusy: true }))).kind).toBe('busy')
  const successor = await trial.takeOver(executing.id)
  successor.complete()
  await successor.flush()
  expect(await trial.store.claimable(10)).toEqual([waiting.run.id])
}

async function keepsTrimmed(trial: Trial): Promise<void> {
  const runWriter = await trial.start()
  for (let index = 0; index < 20; index++) runWriter.text(`${index} `)
  await runWriter.flush()
  const removed = await trial.finish()
  await trial.store.trim(runWriter.id, 10)
  await trial.store.remove(removed.id)
  await trial.reopen()
  expect(await trial.store.get(removed.id)).toBeUndefined()
  expect(await refusalOf(() => trial.store.read(removed.id, -1, 1000))).toBe('not_found')
  expect(await trial.store.get(runWriter.id)).toMatchObject({ first: 10, next: 22 })
  expect(await refusalOf(() => trial.store.read(runWriter.id, 8, 1000))).toBe('cursor_expired')
  await expectLog(trial.store, runWriter.id, runWriter.records, 10)
}

async function sharesNothingWithRemoved(trial: Trial): Promise<void> {
  const long = await trial.start()
  const short = await Promise.all(Array.from({ length: 5 }, () => trial.start()))
  for (let round = 0; round < 5; round++) {
    for (const runWriter of [long, ...short]) runWriter.text(`${runWriter.id} ${round}`)
    await Promise.all([long, ...short].map((runWriter) => runWriter.flush()))
  }
  for (const runWriter of short) runWriter.complete()
  await Promise.all(short.map((runWriter) => runWriter.flush()))
  for (const runWriter of short) expect(await trial.store.remove(runWriter.id)).toBe(true)
  for (let cycle = 0; cycle < 3; cycle++) {
    await trial.reopen()
    const heirs = await Promise.all(Array.from({ length: 6 }, () => trial.start()))
    for (const runWriter of heirs) runWriter.text(`cycle ${cycle}`)
    await Promise.all(heirs.map((runWriter) => runWriter.flush()))
    for (const runWriter of heirs) await expectLog(trial.store, runWriter.id, runWriter.records)
    await trial.reopen()
    for (const runWriter of [long, ...heirs]) await expectLog(trial.store, runWriter.id, runWriter.records)
    for (const runWriter of short) expect(await trial.store.get(runWriter.id)).toBeUndefined()
  }
}

async function hintsAgain(trial: Trial): Promise<void> {
  const { id } = await trial.start()
  await trial.reopen()
  trial.expireLeases()
  const hints = trial.hints(id)
  const successor = await trial.takeOver(id)
  successor.text('again')
  await successor.flush()
  await trial.eventually(() => expect(hints.at(-1)?.next).toBe(3))
}

async function survivesManyReopens(trial: Trial): Promise<void> {
  const first = await trial.start()
  let records: readonly string[] = first.records
  for (let round = 0; round < 5; round++) {
    await trial.reopen()
    trial.expireLeases()
    const runWriter = await trial.takeOver(first.id)
    expect(await readRecords(trial.store, first.id)).toEqual(records)
    expect(runWriter.epoch).toBe(round + 2)
    for (let index = 0; index < 10; index++) runWriter.text(`${round}.${index} `)
    if (round === 4) runWriter.complete()
    await runWriter.flush()
    records = runWriter.records
  }
  await trial.reopen()
  await expectLog(trial.store, first.id, records)
  expect(await trial.store.get(first.id)).toMatchObject({ run: { status: 'completed' }, next: records.length })
}
