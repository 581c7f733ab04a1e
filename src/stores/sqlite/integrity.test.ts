/** Damage in the file: damaged records are never served, and an error affects only the damaged run. */
import { chmodSync, copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { crashedCopy } from '../../../test/support/crashed-copy.ts'
import { temporaryDatabase } from '../../../test/support/temporary.ts'
import { inspectSqlite } from '../../server/store/store-maintenance.ts'
import { systemClock } from '../../core/ports/clock.ts'
import { silentLogger } from '../../core/ports/logger.ts'
import type { Store } from '../../core/ports/store.ts'
import { newRun, RunWriter } from '../../testing/fixtures.ts'
import { commitRecordOf } from './file/commit-record.ts'
import { openSqliteStore } from './index.ts'
import { migrate, SCHEMA_VERSION } from './tables/schema.ts'

const TIME = '2026-01-01T00:00:00.000Z'
const PAGE_BYTES = 4096

async function open(path: string, reported: string[] = []): Promise<Store> {
  const tell = (_fields: object, message: string): void => void reported.push(message)
  const store = await openSqliteStore({ path, logger: { ...silentLogger, error: tell, warn: tell } })
  onTestFinished(() => store.close())
  return store
}

async function write(store: Store, id: string, { texts = 5, completed = true } = {}): Promise<void> {
  const draft = newRun(id, TIME, {
    claim: { worker: 'worker', ttlMs: 60_000 },
    idempotency: { key: id, fingerprint: 'same' },
  })
  const { stored } = await store.create(draft)
  const runWriter = new RunWriter(store, systemClock, stored, [draft.record])
  runWriter.start()
  for (let text = 0; text < texts; text++) runWriter.text(`${id} says ${text}`)
  if (completed) runWriter.complete()
  await runWriter.flush()
}

/** A closed file with three runs; a statement damages the second. */
async function harmed(sql: string): Promise<string> {
  const path = temporaryDatabase()
  const store = await open(path)
  for (const id of ['run_1', 'run_2', 'run_3']) await write(store, id, { texts: 600 })
  await store.documents.put({ owner: 'anna', collection: 'notes', id: 'note', body: { text: 'as it was' } })
  await store.close()
  using database = new DatabaseSync(path)
  database.exec(sql)
  return path
}

function doctorOn(path: string): readonly string[] {
  const condition = inspectSqlite(path)
  return condition.state === 'usable' ? condition.examination!.problems : [JSON.stringify(condition)]
}

/** One bit of the text of an event. */
const FLIP_SEGMENT = `UPDATE segments SET data = CAST(replace(CAST(data AS TEXT), 'run_2 says 77"', 'run_2 says 76"') AS BLOB) WHERE run = 2`

describe('[STO-1] [LOG-1] SQLite: a damaged segment', () => {
  test('is not served: the run answers log_damaged with the events that it lost, and is listed as damaged', async () => {
    const path = await harmed(FLIP_SEGMENT)
    expect(doctorOn(path)).toEqual([expect.stringMatching(/^run run_2: events \d+ to \d+ are damaged$/)])
    const received: string[] = []
    const store = await open(path, received)
    const [, first, last] = /events (\d+) to (\d+)/.exec(doctorOn(await copyOf(path))[0]!)!
    await expect(store.read('run_2', 70, 1 << 20)).rejects.toMatchObject({
      code: 'log_damaged',
      details: { first: Number(first), last: Number(last) },
    })
    expect(Number(first)).toBeLessThanOrEqual(79)
    expect(Number(last)).toBeGreaterThanOrEqual(79)
    expect(received).toEqual([expect.stringContaining('run run_2 is quarantined')])
    await store.documents.put({ owner: 'anna', collection: 'notes', id: 'later', body: {} }) // and the mark is durable
    expect((await store.list({ limit: 10 })).runs.map(({ run, damage }) => [run.id, damage !== undefined])).toEqual([
      ['run_3', false],
      ['run_2', true],
      ['run_1', false],
    ])
    expect((await store.read('run_1', -1, 1 << 20))!.count).toBeGreaterThan(1)
    expect(store.health()).toEqual({ ok: true, alarms: ['1 run is damaged and quarantined'] })
    expect(await store.remove('run_2')).toBe(true)
    expect(store.health()).toEqual({ ok: true })
  })

  test('a damaged segment that a trim would cut is not rewritten with a valid checksum', async () => {
    const store = await open(await harmed(FLIP_SEGMENT))
    await store.trim('run_2', 78)
    expect(await store.get('run_2')).toMatchObject({ damage: { reason: 'do not match their checksum' } })
  })

  test('a damaged segment of an unfinished run keeps the run from being claimed', async () => {
    const path = temporaryDatabase()
    const store = await open(path)
    await write(store, 'run_1', { completed: false })
    await write(store, 'run_2', { completed: false })
    await store.close()
    using database = new DatabaseSync(path)
    database.exec(
      `UPDATE segments SET data = CAST(replace(CAST(data AS TEXT), 'says 3', 'says 2') AS BLOB) WHERE run = 2`,
    )
    database.close()
    const again = await open(path)
    expect(await again.claimable(10)).toEqual(['run_1'])
    expect(await again.claim('run_2', 'worker', 60_000)).toBeUndefined()
    expect(await again.get('run_2')).toMatchObject({ damage: { first: 0, last: 6 } })
  })
})

/** Rows of an older version have no checksum; here the numbers of events 8 and 80 to 89 are invalid. */
const BREAK_OLD_SEGMENT = `UPDATE segments SET crc = NULL,
  data = CAST(replace(CAST(data AS TEXT), char(10) || 'id: 8', char(10) || 'id: x') AS BLOB) WHERE run = 2`

describe('[STO-1] a damaged segment without a checksum', () => {
  test('costs its run alone when a trim would cut it', async () => {
    const told: string[] = []
    const store = await open(await harmed(BREAK_OLD_SEGMENT), told)
    await store.trim('run_2', 80)
    expect(await store.get('run_2')).toMatchObject({ damage: { reason: 'do not match their checksum' } })
    expect(told).toEqual([expect.stringContaining('run run_2 is quarantined')])
    await write(store, 'run_4')
    expect(store.health()).toEqual({ ok: true, alarms: ['1 run is damaged and quarantined'] })
  })

  test('does not keep a store from opening that would split it', async () => {
    const path = await harmed(BREAK_OLD_SEGMENT)
    {
      using database = new DatabaseSync(path)
      for (const run of [1, 2]) {
        const rows = database.prepare('SELECT data, count FROM segments WHERE run = ? ORDER BY first').all(run)
        const records = Buffer.concat(rows.map(({ data }) => data as Uint8Array))
        const count = rows.reduce((sum, row) => sum + Number(row['count']), 0)
        // Room for more than one segment: an older version wrote all of it as one.
        const text = records.toString().replaceAll('says', `says ${'x'.repeat(600)}`)
        database.prepare('DELETE FROM segments WHERE run = ?').run(run)
        database
          .prepare('INSERT INTO segments (run, first, count, data) VALUES (?, 0, ?, ?)')
          .run(run, count, Buffer.from(text))
      }
      database.exec("DELETE FROM counters WHERE name = 'bounded segments'")
    }
    const store = await open(path)
    expect((await store.read('run_1', -1, 1 << 20))!.count).toBe(603)
    await expect(store.read('run_2', -1, 1000)).rejects.toMatchObject({ code: 'log_damaged' })
    await write(store, 'run_4')
    using database = new DatabaseSync(path, { readOnly: true })
    const segments = database.prepare('SELECT count(*) AS count FROM segments WHERE run = ?')
    expect([1, 2].map((run) => Number(segments.get(run)!['count']) > 1)).toEqual([true, false])
  })
})

describe('[STO-1] a page of a log that SQLite cannot read', () => {
  /** Damages the link of a page in the middle of a segment. */
  async function torn(): Promise<string> {
    const path = await harmed('')
    const bytes = readFileSync(path)
    const page = Math.floor(bytes.indexOf('run_2 says 300"') / PAGE_BYTES) * PAGE_BYTES
    expect(bytes.indexOf('run_2 says 299"')).toBeGreaterThan(page) // an overflow page: no cell starts in it
    bytes.writeUInt32BE(0x7fffffff, page)
    writeFileSync(path, bytes)
    return path
  }

  test('costs its run alone: it is listed as damaged, and all others are served', async () => {
    const store = await open(await torn())
    await expect(store.read('run_2', 300, 1 << 20)).rejects.toMatchObject({ code: 'log_damaged' })
    const damage = { reason: 'cannot be read: the database is damaged there' }
    expect(await store.get('run_2')).toMatchObject({ damage })
    expect((await store.list({ limit: 10 })).runs.map((stored) => stored.damage?.reason)).toEqual([
      undefined,
      damage.reason,
      undefined,
    ])
  })

  test('a removal of its run is refused, and the others keep what is written at the same time', async () => {
    const store = await open(await torn())
    await expect(store.read('run_2', 300, 1 << 20)).rejects.toMatchObject({ code: 'log_damaged' })
    for (let attempt = 0; attempt < 2; attempt++) {
      const removed = store.remove('run_2').catch((cause: unknown) => cause)
      await write(store, `run_beside_${attempt}`)
      expect(await removed).toMatchObject({ code: 'log_damaged', details: { first: 0, last: 602 } })
      expect(store.health()).toEqual({ ok: true, alarms: ['1 run is damaged and quarantined'] })
    }
    expect(await store.get('run_2')).toMatchObject({ damage: {} })
  })

  test.each(['trim', 'remove'] as const)('a %s that discovers it fails one commit, and not another', async (how) => {
    const store = await open(await torn())
    const change = (): Promise<unknown> => (how === 'trim' ? store.trim('run_2', 550) : store.remove('run_2'))
    await expect(change()).rejects.toMatchObject({ code: 'unavailable' })
    await expect
      .poll(() => store.health(), { timeout: 30_000 })
      .toEqual({
        ok: true,
        alarms: ['1 run is damaged and quarantined'],
      })
    const again = change().catch((cause: unknown) => cause)
    await write(store, 'run_4')
    await again
    expect(store.health()).toMatchObject({ ok: true })
    expect(await store.get('run_2')).toMatchObject({ damage: { first: 0, last: 602 } })
  })
})

async function copyOf(path: string): Promise<string> {
  const copy = temporaryDatabase()
  crashedCopy(path, copy)
  return copy
}

describe('[STO-1] SQLite: a damaged row of a run', () => {
  test('a run with a damaged state is listed as damaged, and its log is not served', async () => {
    const path = await harmed(`UPDATE runs SET run = replace(run, '"attempt":1', '"attempt":3') WHERE number = 2`)
    expect(doctorOn(path)).toEqual(['the row of run run_2 is damaged'])
    const received: string[] = []
    const store = await open(path, received)
    expect(
      (await store.list({ limit: 10 })).runs.map(({ run, damage }) => [run.id, run.error?.code, damage?.last]),
    ).toEqual([
      ['run_3', undefined, undefined],
      ['run_2', 'log_damaged', 602],
      ['run_1', undefined, undefined],
    ])
    await expect(store.read('run_2', -1, 1000)).rejects.toMatchObject({ code: 'log_damaged' })
    expect(received).toHaveLength(1)
  })

  test('[SEC-1] a run with a damaged owner is visible to no principal and counted in listings', async () => {
    const path = await harmed(`UPDATE runs SET owner = 'owner-3' WHERE number = 2`)
    const store = await open(path)
    const page = await store.list({ limit: 1 })
    expect({ ...page, runs: page.runs.map(({ run }) => run.id) }).toMatchObject({ runs: ['run_3'] })
    const rest = await store.list({ limit: 10, after: page.cursor! })
    expect({ ...rest, runs: rest.runs.map(({ run }) => run.id) }).toEqual({ runs: ['run_1'], unreadable: 1 })
    expect((await store.list({ limit: 10, owner: 'owner-3' })).runs).toEqual([])
    await expect(store.get('run_2')).rejects.toMatchObject({ code: 'log_damaged' })
  })

  test('a damaged idempotency key does not start a second run', async () => {
    const store = await open(await harmed(`UPDATE runs SET fingerprint = 'sane' WHERE number = 2`))
    const again = newRun('run_9', TIME, { idempotency: { key: 'run_2', fingerprint: 'same' } })
    await expect(store.create(again)).rejects.toMatchObject({ code: 'log_damaged' })
  })
})

test('[STO-1] SQLite: records that are damaged in the log cost their run alone, also where the directory is damaged', async () => {
  for (const harm of [
    `UPDATE log SET data = CAST(replace(CAST(data AS TEXT), 'run_2 says 4', 'run_2 says 5') AS BLOB)`,
    // A length in the directory: 'dir' is made of 16 bytes an entry, the length is its last number.
    `UPDATE log SET dir = CAST(substr(dir, 1, 12) || x'ff' || substr(dir, 14) AS BLOB) WHERE length(dir) = 48`,
    // The number of a run.
    `UPDATE log SET dir = CAST(x'07' || substr(dir, 2) AS BLOB) WHERE length(dir) = 48`,
  ]) {
    const path = temporaryDatabase()
    const store = await open(path)
    // One commit has the last records of all three, so that they share a log row.
    const ids = ['run_2', 'run_1', 'run_3']
    await Promise.all(ids.map((id) => write(store, id, { completed: false })))
    const crashed = temporaryDatabase()
    crashedCopy(path, crashed)
    using database = new DatabaseSync(crashed)
    const [row] = database.prepare('SELECT dir FROM log WHERE length(dir) = 48').all()
    expect(row, 'a log row with all three runs').toBeDefined()
    expect(database.prepare(harm).run().changes, harm).toBeGreaterThan(0)
    database.close()
    const received: string[] = []
    const again = await open(crashed, received)
    expect(received, harm).toHaveLength(1)
    const found = await Promise.all(ids.map(async (id) => (await again.get(id))?.damage !== undefined))
    expect(found.filter(Boolean), `${harm}: ${received.join()}`).toHaveLength(1)
    expect(await again.claimable(10)).toHaveLength(2)
  }
})

describe('[STO-1] SQLite: a damaged document', () => {
  const HARM = `UPDATE documents SET body = replace(body, 'as it was', 'as it is') WHERE id = 'note'`

  test('is not served, is left out of listings, and can be replaced', async () => {
    const path = await harmed(HARM)
    expect(doctorOn(path)).toEqual(['document note of notes is damaged'])
    const store = await open(path)
    await expect(store.documents.get('anna', 'notes', 'note')).rejects.toMatchObject({ code: 'log_damaged' })
    expect((await store.documents.list({ collection: 'notes', limit: 10 })).documents).toEqual([])
    await store.documents.put({ owner: 'anna', collection: 'notes', id: 'note', body: 'new' })
    expect(await store.documents.get('anna', 'notes', 'note')).toMatchObject({ body: 'new', version: 1 })
  })

  test('a damaged session document stays damaged when a run touches the session', async () => {
    const store = await open(await harmed(`UPDATE documents SET title = 'forged' WHERE collection = 'session'`))
    await store.create(newRun('run_4', '2026-01-02T00:00:00.000Z'))
    await expect(store.documents.get('owner-1', 'session', 'session-1')).rejects.toMatchObject({ code: 'log_damaged' })
  })
})

describe('SQLite: the doctor', () => {
  test('finds that a trigger is another one, and that an index is missing', async () => {
    const path = await harmed(`DROP TRIGGER usage_run_removed; DROP INDEX runs_damaged;
      CREATE TRIGGER usage_run_removed AFTER DELETE ON runs BEGIN SELECT 1; END`)
    expect(doctorOn(path)).toEqual([
      'the schema: trigger usage_run_removed is not what this version made',
      'the schema: index runs_damaged is missing',
    ])
  })

  test.each([
    ['a run', 'DELETE FROM runs WHERE number = 2', /^the row of run number 2 is missing: its events are there$/],
    [
      'the end of a log',
      'DELETE FROM segments WHERE run = 2 AND first > 0',
      /^run run_2: events \d+ to 602 are missing/,
    ],
    [
      'the start of a log',
      'DELETE FROM segments WHERE run = 2 AND first = 0',
      /^run run_2: events 0 to \d+ are missing/,
    ],
  ])('finds that %s is missing', async (_what, sql, expected) => {
    expect(doctorOn(await harmed(sql))).toContainEqual(expect.stringMatching(expected))
  })

  test('finds nothing in a sound file, and changes nothing', async () => {
    const path = await harmed('SELECT 1')
    expect(inspectSqlite(path)).toMatchObject({ examination: { problems: [], problemCount: 0, unverified: 0 } })
  })
})

describe('[LOG-2] SQLite: commits that a file has lost', () => {
  test('are reported in the log, by health and by the doctor, with what is missing', async () => {
    const path = temporaryDatabase()
    const store = await open(path)
    await write(store, 'run_1')
    const behind = temporaryDatabase()
    crashedCopy(path, behind)
    await write(store, 'run_2')
    await store.documents.put({ owner: 'anna', collection: 'notes', id: 'note', body: {} })
    copyFileSync(commitRecordOf(path), commitRecordOf(behind))
    await store.close()

    const loss = expect.stringMatching(
      /^\d+ acknowledged commits are missing \(\d+ to \d+\), and with them 1 run, the last of /,
    )
    expect(doctorOn(behind)).toEqual([loss])
    const received: string[] = []
    const again = await open(behind, received)
    expect(received).toEqual([loss])
    expect(again.health()).toEqual({ ok: true, alarms: [loss] })
    await write(again, 'run_3')
    await again.close()
    // Reported once, and remembered for the doctor.
    const after: string[] = []
    await (await open(behind, after)).close()
    expect(after).toEqual([])
    expect(doctorOn(behind)).toEqual([loss])
  })

  test('are not suspected after a clean stop, a crash, a restored backup or a lost record', async () => {
    const path = temporaryDatabase()
    const received: string[] = []
    const store = await open(path, received)
    await write(store, 'run_1')
    const crashed = temporaryDatabase()
    crashedCopy(path, crashed)
    copyFileSync(commitRecordOf(path), commitRecordOf(crashed))
    await store.close()
    await (await open(crashed, received)).close()
    const backup = temporaryDatabase()
    copyFileSync(path, backup)
    const again = await open(path, received)
    await write(again, 'run_2')
    await again.close()
    copyFileSync(backup, path) // by hand: the record beside it is of another life of the file
    const restored = await open(path, received)
    expect(await restored.get('run_2')).toBeUndefined()
    await restored.close()
    rmSync(commitRecordOf(path))
    await (await open(path, received)).close()
    expect(received).toEqual([])
    expect(existsSync(commitRecordOf(path))).toBe(true)
  })
})

test('SQLite: a file without checksums opens, is served, and gets checksums as it changes', async () => {
  const path = temporaryDatabase()
  {
    using database = new DatabaseSync(path)
    database.exec('PRAGMA journal_mode = WAL')
    migrate(database, path, SCHEMA_VERSION - 1)
    const { run, record } = newRun('run_old', TIME)
    database
      .prepare(`INSERT INTO runs (number, id, owner, component, session, status, created, epoch, first, next, run)
                VALUES (1, ?, ?, ?, ?, 'queued', ?, 0, 0, 1, ?)`)
      .run(run.id, run.owner, run.component, run.session, TIME, JSON.stringify(run))
    database.prepare('INSERT INTO segments (run, first, count, data) VALUES (1, 0, 1, ?)').run(Buffer.from(record))
  }
  chmodSync(path, 0o600)
  const received: string[] = []
  const store = await open(path, received)
  expect((await store.read('run_old', -1, 1000))!.count).toBe(1)
  const claimed = (await store.claim('run_old', 'worker', 60_000))!
  const runWriter = new RunWriter(store, systemClock, claimed, [])
  runWriter.start()
  runWriter.complete()
  await runWriter.flush()
  await store.close()
  expect(received).toEqual([])
  expect(inspectSqlite(path)).toMatchObject({ examination: { problems: [], unverified: 1 } })
  using database = new DatabaseSync(path)
  expect(database.prepare('SELECT crc IS NULL AS old FROM segments ORDER BY first').all()).toEqual([
    { old: 1 },
    { old: 0 },
  ])
})
