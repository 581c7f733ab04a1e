import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { crashedCopy } from '../../../test/support/crashed-copy.ts'
import { temporaryDatabase } from '../../../test/support/temporary.ts'
import { until } from '../../../test/support/until.ts'
import { systemClock } from '../../core/ports/clock.ts'
import type { Slice } from '../../core/model/slice.ts'
import type { Store } from '../../core/ports/store.ts'
import { newRun, RunWriter } from '../../testing/fixtures.ts'
import { type OpenSqliteOptions, openSqliteStore } from './index.ts'

const SEGMENT_BYTES_MAX = 256 * 1024

async function open(path: string, options: Partial<OpenSqliteOptions> = {}): Promise<Store> {
  const store = await openSqliteStore({ path, ...options })
  onTestFinished(() => store.close())
  return store
}

async function start(store: Store, id: string): Promise<RunWriter> {
  const draft = newRun(id, new Date().toISOString(), { claim: { worker: 'worker-1', ttlMs: 600_000 } })
  const { stored } = await store.create(draft)
  const runWriter = new RunWriter(store, systemClock, stored, [draft.record])
  runWriter.start()
  await runWriter.flush()
  return runWriter
}

async function expectLog(store: Store, { id, records }: RunWriter): Promise<void> {
  const bytes: Uint8Array[] = []
  for (let after = -1, slice: Slice | undefined; after < records.length - 1; after += slice.count) {
    slice = await store.read(id, after, 100_000)
    if (slice === undefined) break
    bytes.push(slice.bytes)
  }
  expect(Buffer.concat(bytes).equals(Buffer.from(records.join('')))).toBe(true)
}

function expectBounded(path: string): void {
  using database = new DatabaseSync(path, { readOnly: true })
  const statement = 'SELECT max(length(data)) AS largest FROM segments WHERE count > 1'
  expect(database.prepare(statement).get()!['largest']).toBeLessThanOrEqual(SEGMENT_BYTES_MAX)
}

function write(runWriter: RunWriter, texts: number): void {
  for (let index = 0; index < texts; index++) runWriter.text('y'.repeat(400))
  runWriter.text('one large record '.repeat(20_000))
}

describe('[STO-1] SQLite: a segment is at most 256 KiB, or one record', () => {
  test('segments written by many commits are bounded, and the log can be read meanwhile', async () => {
    const path = temporaryDatabase()
    const store = await open(path)
    const runWriter = await start(store, 'run_long')
    for (let round = 0; round < 5; round++) {
      write(runWriter, 1000)
      await runWriter.flush()
      await expectLog(store, runWriter)
    }
    await store.close()
    expectBounded(path)
    await expectLog(await open(path), runWriter)
  })

  test('segments of a log recovered after a crash are bounded', async () => {
    const path = temporaryDatabase()
    const store = await open(path)
    const runWriter = await start(store, 'run_long')
    write(runWriter, 3000)
    await runWriter.flush()
    const copy = temporaryDatabase()
    crashedCopy(path, copy)
    const again = await open(copy)
    await expectLog(again, runWriter)
    await again.close()
    expectBounded(copy)
  })

  test('segments of a file that an earlier version wrote without a bound are bounded', async () => {
    const path = temporaryDatabase()
    const store = await open(path)
    const runWriter = await start(store, 'run_long')
    write(runWriter, 3000)
    runWriter.complete()
    await runWriter.flush()
    await store.close()
    {
      using database = new DatabaseSync(path)
      const rows = database.prepare('SELECT data FROM segments ORDER BY first').all()
      const data = Buffer.concat(rows.map((row) => row['data'] as Uint8Array))
      database.exec("DELETE FROM segments; DELETE FROM counters WHERE name = 'bounded segments'")
      database
        .prepare('INSERT INTO segments (run, first, count, data) VALUES (1, 0, ?, ?)')
        .run(runWriter.records.length, data)
    }
    const again = await open(path)
    expectBounded(path) // before the trim, which would cut the one that it hits
    await expectLog(again, runWriter)
    await again.trim(runWriter.id, 1500)
    expect((await again.get(runWriter.id))!.first).toBe(1500)
    await again.close()
    expectBounded(path)
  })
})

describe('[STO-1] SQLite: a store that is behind', () => {
  test('refuses starts with unavailable until it has caught up, and answers a retried start', async () => {
    const store = await open(temporaryDatabase(), { maxBacklogBytes: 10_000 })
    const idempotency = { key: 'key-1', fingerprint: 'body-1' }
    const known = newRun('run_known', '2026-01-01T00:00:00.000Z', { idempotency })
    await store.create(known)
    const runWriter = await start(store, 'run_busy')
    // Too little for a segment: it waits until the store is idle, which a starved test may see too late.
    let next = newRun('run_next', '2026-01-01T00:00:00.000Z')
    const refusal = await until('a start is refused', async () => {
      for (let index = 0; index < 30; index++) runWriter.text('z'.repeat(500))
      await runWriter.flush()
      next = newRun(`run_next_${runWriter.records.length}`, '2026-01-01T00:00:00.000Z')
      return store.create(next).then(
        () => undefined,
        (cause: unknown) => cause,
      )
    })
    expect(refusal).toMatchObject({ code: 'unavailable', retryAfterMs: 1000 })
    expect((await store.create(known)).kind).toBe('existing')
    runWriter.text('a run goes on')
    await runWriter.flush()
    expect(store.health()).toEqual({ ok: true })
    const retry = (): Promise<string> => store.create(next).then(({ kind }) => kind, String)
    await expect.poll(retry, { timeout: 30_000 }).toBe('created')
  })

  test('keeps up with short runs', async () => {
    const path = temporaryDatabase()
    const store = await open(path)
    let behind = 0
    using database = new DatabaseSync(path, { readOnly: true })
    for (let round = 0; round < 20; round++) {
      const runWriters = await Promise.all(Array.from({ length: 50 }, (_, at) => start(store, `run_${round}_${at}`)))
      for (const runWriter of runWriters) {
        for (let index = 0; index < 5; index++) runWriter.text('short')
        runWriter.complete()
      }
      await Promise.all(runWriters.map((runWriter) => runWriter.flush()))
      const { sealed } = database.prepare('SELECT count(DISTINCT run) AS sealed FROM segments').get()!
      behind = (round + 1) * 50 - Number(sealed)
    }
    expect(behind).toBeLessThan(200)
  })
})
