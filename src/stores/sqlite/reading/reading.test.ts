/** The reading thread: returns what was written, byte for byte; a read without a result delays no other read. */
import { readFileSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { temporaryDatabase } from '../../../../test/support/temporary.ts'
import { until } from '../../../../test/support/until.ts'
import { systemClock } from '../../../core/ports/clock.ts'
import { lastOf, type Slice } from '../../../core/model/slice.ts'
import type { Store } from '../../../core/ports/store.ts'
import { newRun, RunWriter } from '../../../testing/fixtures.ts'
import { openSqliteStore } from '../index.ts'
import { Reader } from './reader.ts'

const TIME = '2026-01-01T00:00:00.000Z'
const PAGE_BYTES = 64 * 1024

async function opened(path: string): Promise<Store> {
  const store = await openSqliteStore({ path })
  onTestFinished(() => store.close())
  return store
}

/** A store with a finished run of `texts` texts that is not in memory. */
async function withFinished(texts: number): Promise<{ path: string; store: Store; records: string }> {
  const path = temporaryDatabase()
  const store = await openSqliteStore({ path })
  const draft = newRun('run_1', TIME, { claim: { worker: 'worker', ttlMs: 60_000 } })
  const { stored } = await store.create(draft)
  const runWriter = new RunWriter(store, systemClock, stored, [draft.record])
  runWriter.start()
  for (let text = 0; text < texts; text++) {
    runWriter.text(`text ${text}`)
    if (text % 25 === 0) await runWriter.flush() // so that there are several segments to a page
  }
  runWriter.complete()
  await runWriter.flush()
  await store.close()
  return { path, store: await opened(path), records: runWriter.records.join('') }
}

async function wholeLog(store: Store, maxBytes: number, releases = false): Promise<string> {
  const pieces: Uint8Array[] = []
  for (let after = -1; ;) {
    const slice = await store.read('run_1', after, maxBytes)
    if (slice === undefined) return Buffer.concat(pieces).toString()
    pieces.push(releases ? slice.bytes.slice() : slice.bytes)
    if (releases) slice.release?.()
    after = lastOf(slice)
  }
}

describe('[LOG-5] SQLite: pages from the file', () => {
  test.each([1, 10, 60, 70, 130, 200, 400, 3000])('are the log, with %i texts', async (texts) => {
    const { store, records } = await withFinished(texts)
    for (const maxBytes of [500, 5000, 20_000, PAGE_BYTES, 2 * PAGE_BYTES])
      expect(await wholeLog(store, maxBytes)).toBe(records)
  })
})

test('[STO-1] SQLite: a page loads the segments that it needs, however long the log is', async () => {
  const { path, records } = await withFinished(3000)
  expect(records.length).toBeGreaterThan(6 * PAGE_BYTES)
  const reader = new Reader(path)
  onTestFinished(() => reader.close())
  for (const from of [0, 1500, 2900]) {
    const segments = reader.segments(1, from, PAGE_BYTES)
    expect(segments[0]!.first).toBeGreaterThan(from - 500)
    expect(segments.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBeLessThan(2 * PAGE_BYTES)
  }
})

test('SQLite: a page stays as it was read until it is released, whatever is read meanwhile', async () => {
  const { store, records } = await withFinished(3000)
  await store.read('run_1', -1, PAGE_BYTES)
  const held = await untilShared(store)
  const copy = held.bytes.slice()
  for (let round = 0; round < 3; round++) expect(await wholeLog(store, PAGE_BYTES, true)).toBe(records)
  expect(held.bytes).toEqual(copy)
  held.release!()
  expect((await store.read('run_1', lastOf(held), PAGE_BYTES))!.bytes.buffer).toBe(held.bytes.buffer)
})

/** The second page, in shared memory: the reading thread has loaded its code. */
async function untilShared(store: Store): Promise<Slice> {
  const shared = await until('the reading thread reads', async () => {
    const slice = (await store.read('run_1', 100, PAGE_BYTES))!
    return slice.release === undefined ? undefined : slice
  })
  return shared
}

test.runIf(process.platform === 'linux')(
  'SQLite: the first reads after opening do not run on the event loop',
  async () => {
    const { store, records } = await withFinished(3000)
    const before = bytesReadHere()
    expect(await wholeLog(store, PAGE_BYTES)).toBe(records)
    expect(records.length).toBeGreaterThan(2 * PAGE_BYTES)
    // It reads what wakes it up, and this figure; a disk that stalls would stop it at the first page of the file.
    expect(bytesReadHere() - before).toBeLessThan(PAGE_BYTES)
  },
)

/** Bytes that system calls of this thread have read so far, from any file. */
function bytesReadHere(): number {
  return Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/thread-self/io', 'utf8'))![1])
}

test('[SUB-2] SQLite: a log that is trimmed or removed during a read is not reported as damaged', async () => {
  const { store } = await withFinished(500)
  const read = (after: number): Promise<string> =>
    store.read('run_1', after, PAGE_BYTES).then(
      () => 'read',
      (cause: { code: string }) => cause.code,
    )
  const trim = store.trim('run_1', 300)
  const during: Promise<string>[] = []
  for (let done = false; !done; await new Promise(setImmediate)) {
    during.push(read(-1))
    // The store refuses reads when thousands of them wait.
    if (during.length % 64 === 0) await Promise.all(during)
    await Promise.race([trim.then(() => (done = true)), new Promise(setImmediate)])
  }
  for (const outcome of await Promise.all(during)) expect(['read', 'cursor_expired']).toContain(outcome)
  expect(await read(-1)).toBe('cursor_expired')
  const removal = store.remove('run_1')
  const meanwhile = Array.from({ length: 20 }, () => read(299))
  await removal
  for (const outcome of await Promise.all(meanwhile)) expect(['read', 'not_found']).toContain(outcome)
  expect(store.health()).toEqual({ ok: true })
})

test('[RUN-3] SQLite: concurrent starts with one id or one idempotency key create one run', async () => {
  const store = await opened(temporaryDatabase())
  const idempotency = { key: 'key', fingerprint: 'same' }
  const created = await Promise.all(
    ['run_1', 'run_2', 'run_3'].map((id) => store.create(newRun(id, TIME, { idempotency }))),
  )
  expect(created.map(({ kind }) => kind)).toEqual(['created', 'existing', 'existing'])
  expect(new Set(created.map(({ stored }) => stored.run.id)).size).toBe(1)
  const same = await Promise.allSettled([1, 2, 3].map(() => store.create(newRun('run_9', TIME))))
  expect(same.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
})

test('SQLite: reads for transfer and usage return lists', async () => {
  const { store } = await withFinished(10)
  await store.documents.put({ owner: 'anna', collection: 'notes', id: 'note', body: 'text' })
  const { owner } = (await store.get('run_1'))!.run
  expect((await store.transfer.runs(10)).map(({ stored }) => stored.run.id)).toEqual(['run_1'])
  expect((await store.transfer.documents(10)).map(({ id }) => id)).toContain('note')
  expect((await store.usage.largest(10)).map((usage) => usage.owner)).toContain(owner)
  expect((await store.usage.finishedRuns(owner, 10)).map(({ stored }) => stored.run.id)).toEqual(['run_1'])
})
