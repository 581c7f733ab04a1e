/** A giant run is removed or trimmed in slices. Readers never see a partial run, even if the process ends between slices. */
import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { crashedCopy } from '../../../test/support/crashed-copy.ts'
import { temporaryDatabase } from '../../../test/support/temporary.ts'
import { until } from '../../../test/support/until.ts'
import { inspectSqlite } from '../../server/store/store-maintenance.ts'
import { systemClock } from '../../core/ports/clock.ts'
import { silentLogger } from '../../core/ports/logger.ts'
import type { Store } from '../../core/ports/store.ts'
import { newRun, RunWriter } from '../../testing/fixtures.ts'
import { Committer } from './committing/committer.ts'
import { backUp, vacuum } from './file/backup.ts'
import { openSqliteStore } from './index.ts'

const GIANT_RECORDS = 200
const RECORD_CHARS = 64 * 1024
const HALF = 'x'.repeat(RECORD_CHARS / 2)
const PAGE_BYTES = 4096

async function open(path: string, told: string[] = []): Promise<Store> {
  const tell = (_fields: object, message: string): void => void told.push(message)
  const store = await openSqliteStore({ path, logger: { ...silentLogger, error: tell }, reopenIntervalMs: 10 })
  onTestFinished(() => store.close())
  return store
}

async function write(store: Store, id: string, records: number): Promise<void> {
  const draft = newRun(id, '2026-01-01T00:00:00.000Z', { claim: { worker: 'worker', ttlMs: 600_000 } })
  const { stored } = await store.create(draft)
  const runWriter = new RunWriter(store, systemClock, stored, [draft.record])
  runWriter.start()
  for (let record = 0; record < records; record++) runWriter.text(`${HALF} ${id} ${record} ${HALF}`)
  runWriter.complete()
  await runWriter.flush()
}

/** Compacted, so that all records are in segments. */
async function storeWithGiant(path: string): Promise<Store> {
  const store = await open(path)
  await write(store, 'run_giant', GIANT_RECORDS)
  await write(store, 'run_small', 2)
  await store.close()
  return open(path)
}

/** The file as a crash right after the change left it: nothing executes between the reply and the copy. */
async function crashedAfter(change: (store: Store) => Promise<unknown>): Promise<string> {
  const path = temporaryDatabase()
  const store = await storeWithGiant(path)
  await change(store)
  const crashed = copyOf(path)
  expect(segments(crashed)).toBeGreaterThan(64)
  expect(segments(crashed, 'deletions')).toBe(1)
  return crashed
}

function copyOf(path: string): string {
  const copy = temporaryDatabase()
  crashedCopy(path, copy)
  return copy
}

/** Segments of the giant run, which has the number 1. */
function segments(path: string, table = 'segments'): number {
  using database = new DatabaseSync(path, { timeout: 10_000 })
  return Number(database.prepare(`SELECT count(*) AS found FROM ${table} WHERE run = 1`).get()!['found'])
}

function pendingBytes(path: string): unknown {
  using database = new DatabaseSync(path)
  return database.prepare('SELECT bytes FROM deletions').get()!['bytes']
}

function bytesBefore(path: string, index: number): unknown {
  using database = new DatabaseSync(path)
  const statement = 'SELECT sum(length(data)) AS bytes FROM segments WHERE run = 1 AND first < ?'
  return database.prepare(statement).get(index)!['bytes']
}

function problemsIn(path: string): readonly string[] {
  const condition = inspectSqlite(path)
  return condition.state === 'usable' ? condition.examination!.problems : [JSON.stringify(condition)]
}

const remove = (store: Store): Promise<unknown> => store.remove('run_giant')
const trim = (store: Store): Promise<unknown> => store.trim('run_giant', GIANT_RECORDS)

describe('[STO-1] [LOG-2] a crash while a giant run is removed', () => {
  test('nothing of the run is served or counted, and the next process deletes the rest', async () => {
    const crashed = await crashedAfter(remove)
    const store = await open(crashed)
    expect(await store.get('run_giant')).toBeUndefined()
    await expect(store.read('run_giant', -1, 1000)).rejects.toMatchObject({ code: 'not_found' })
    expect((await store.list({ limit: 10 })).runs.map(({ run }) => run.id)).toEqual(['run_small'])
    const { owner } = (await store.get('run_small'))!.run
    expect(await store.usage.of(owner)).toMatchObject({ runs: 1 })
    expect((await store.usage.of(owner)).logBytes).toBeLessThan(4 * RECORD_CHARS)
    expect(await store.size()).toBeLessThan(16 * RECORD_CHARS)
    await until('the rest is deleted', () => segments(crashed) === 0 && segments(crashed, 'deletions') === 0)
    await write(store, 'run_giant', 1)
    expect((await store.read('run_giant', -1, 1 << 20))!.count).toBe(4)
    await store.close()
    expect(problemsIn(crashed)).toEqual([])
  })

  test('every slice survives a crash of its own, and the doctor finds no damage after any', async () => {
    let path = await crashedAfter(remove)
    const left: number[] = []
    for (let life = 0; life < 20 && segments(path, 'deletions') > 0; life++) {
      const options = { path, token: String(life), reopen: undefined, walWarningBytes: Infinity, readerTimeoutMs: 0 }
      const committer = new Committer(options, () => {})
      const nothing = { rows: [], ended: [], trimmed: [], quarantined: [], removed: [], documents: [] }
      const reply = committer.commit({
        data: new Uint8Array(0),
        directory: new Int32Array(0),
        ...nothing,
        compact: 'ready',
      })
      path = copyOf(path)
      committer.close()
      left.push(segments(path))
      expect(reply).toMatchObject({ kind: 'committed', isDeleting: left.at(-1)! > 0 })
      expect(problemsIn(copyOf(path))).toEqual([])
    }
    expect(left.length).toBeGreaterThan(2)
    expect(left.at(-1)).toBe(0)
  })

  test('a backup and a vacuum of the file have nothing of the run', async () => {
    const crashed = await crashedAfter(remove)
    const backup = temporaryDatabase()
    const report = await backUp(crashed, backup, () => {})
    expect(report).toMatchObject({ runs: 1, damage: { problems: [] } })
    expect([segments(backup), segments(backup, 'deletions')]).toEqual([0, 0])
    expect(vacuum(crashed, () => {})).toMatchObject({ runs: 1, damage: { problems: [] } })
    expect([segments(crashed), segments(crashed, 'deletions')]).toEqual([0, 0])
    expect(readFileSync(crashed).includes('run_giant 150')).toBe(false)
  })

  test('a trimmed giant run has only its last events', async () => {
    const crashed = await crashedAfter(trim)
    expect(pendingBytes(crashed)).toEqual(bytesBefore(crashed, GIANT_RECORDS))
    expect(problemsIn(copyOf(crashed))).toEqual([])
    const store = await open(crashed)
    expect(await store.get('run_giant')).toMatchObject({ first: GIANT_RECORDS, next: GIANT_RECORDS + 3 })
    await expect(store.read('run_giant', 10, 1000)).rejects.toMatchObject({ code: 'cursor_expired' })
    expect(await store.read('run_giant', GIANT_RECORDS - 1, 1 << 20)).toMatchObject({ first: GIANT_RECORDS, count: 3 })
    const { owner } = (await store.get('run_giant'))!.run
    for (const { bytes } of await store.usage.finishedRuns(owner, 10)) expect(bytes).toBeLessThan(4 * RECORD_CHARS)
    await until('the rest is deleted', () => segments(crashed, 'deletions') === 0)
    expect(await store.read('run_giant', GIANT_RECORDS - 1, 1 << 20)).toMatchObject({ first: GIANT_RECORDS, count: 3 })
    await store.close()
    expect(problemsIn(crashed)).toEqual([])
  })
})

test('[STO-1] SQLite: a store that closes deletes the rest of a giant run', async () => {
  const path = temporaryDatabase()
  const store = await storeWithGiant(path)
  await remove(store)
  await store.close()
  expect([segments(path), segments(path, 'deletions')]).toEqual([0, 0])
})

/** Breaks the links of overflow pages in the middle of a segment, including former pages, which are never read. */
function tear(path: string, text: string): void {
  {
    using database = new DatabaseSync(path)
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  }
  const bytes = readFileSync(path)
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1))
    bytes.writeUInt32BE(0x7fffffff, at - (at % PAGE_BYTES))
  writeFileSync(path, bytes)
}

test('[STO-1] SQLite: a damaged page in the rest of a removed run fails one commit, and not another', async () => {
  const crashed = await crashedAfter(remove)
  {
    using database = new DatabaseSync(crashed)
    database.exec("INSERT INTO counters (name, value) VALUES ('vacuum stopped', 1)") // it could meet the page first
  }
  tear(crashed, 'run_giant 150')
  const told: string[] = []
  const store = await open(crashed, told)
  await until('the deletion is given up', () => segments(crashed, 'deletions') === 0 && store.health().ok)
  expect(segments(crashed)).toBeGreaterThan(0)
  await write(store, 'run_next', 1)
  expect(await store.get('run_giant')).toBeUndefined()
  expect(told).toEqual(['failed to write to the store; reopening every 10 ms'])
})

test('SQLite: a verified copy of a file whose vacuum was stopped allows vacuum again', async () => {
  const path = temporaryDatabase()
  await (await open(path)).close()
  {
    using database = new DatabaseSync(path)
    database.exec("INSERT INTO counters (name, value) VALUES ('vacuum stopped', 1)")
  }
  const backup = temporaryDatabase()
  await backUp(path, backup, () => {})
  vacuum(path, () => {})
  for (const copy of [backup, path]) {
    using database = new DatabaseSync(copy)
    expect(database.prepare("SELECT 1 FROM counters WHERE name = 'vacuum stopped'").all()).toEqual([])
  }
})
