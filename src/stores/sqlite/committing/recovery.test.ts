import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { crashedCopy } from '../../../../test/support/crashed-copy.ts'
import { temporaryDatabase } from '../../../../test/support/temporary.ts'
import { systemClock } from '../../../core/ports/clock.ts'
import { silentLogger } from '../../../core/ports/logger.ts'
import { events, type Slice } from '../../../core/model/slice.ts'
import type { Store } from '../../../core/ports/store.ts'
import { newRun, recordOf, RunWriter } from '../../../testing/fixtures.ts'
import { openSqliteStore } from '../index.ts'
import { openDatabase } from '../file/database-file.ts'
import { migrate } from '../tables/schema.ts'
import { LogRecovery } from './recovery.ts'
import { SegmentWrites } from './segment-writes.ts'

const TIME = '2026-01-01T00:00:00.000Z'
const CLAIM = { worker: 'worker-1', ttlMs: 60_000 }

async function open(path: string, warnings: string[] = []): Promise<Store> {
  const store = await openSqliteStore({
    path,
    logger: { ...silentLogger, error: (_, message) => void warnings.push(message) },
  })
  onTestFinished(() => store.close())
  return store
}

async function start(store: Store, id: string): Promise<RunWriter> {
  const draft = newRun(id, TIME, { claim: CLAIM })
  const { stored } = await store.create(draft)
  const runWriter = new RunWriter(store, systemClock, stored, [draft.record])
  runWriter.start()
  return runWriter
}

async function finish(store: Store, id: string, texts: number): Promise<RunWriter> {
  const runWriter = await start(store, id)
  for (let index = 0; index < texts; index++) runWriter.text(`${id} says ${index}`)
  runWriter.complete()
  await runWriter.flush()
  return runWriter
}

async function read(store: Store, id: string): Promise<string> {
  let text = ''
  for (let after = -1, slice: Slice | undefined; ; after += slice.count) {
    slice = await store.read(id, after, 1 << 20)
    if (slice === undefined) return text
    text += Buffer.from(slice.bytes).toString()
  }
}

/** A file of the version before, with runs and log rows as given. */
function oldFile(path: string, runs: readonly [number, string][], rows: readonly (readonly Entry[])[]): void {
  using database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = WAL')
  migrate(database, path, 3)
  for (const [number, id] of runs) {
    const { run } = newRun(id, TIME)
    database
      .prepare(`INSERT INTO runs (number, id, owner, component, session, status, created, epoch, first, next, run)
                VALUES (?, ?, ?, ?, ?, 'running', ?, 1, 0, 1, ?)`)
      .run(number, id, run.owner, run.component, run.session, TIME, JSON.stringify({ ...run, status: 'running' }))
  }
  for (const [seq, entries] of rows.entries()) {
    const texts = entries.map(({ id, first, count, chars }) =>
      Array.from({ length: count }, (_, index) => textRecord(id, first + index, chars)).join(''),
    )
    const directory = entries.flatMap(({ number, first, count }, index) => [
      number,
      first,
      count,
      Buffer.byteLength(texts[index]!),
    ])
    database
      .prepare('INSERT INTO log (seq, dir, data) VALUES (?, ?, ?)')
      .run(seq + 1, new Uint8Array(Int32Array.from(directory).buffer), Buffer.from(texts.join('')))
  }
}

interface Entry {
  readonly number: number
  readonly id: string
  readonly first: number
  readonly count: number
  /** Minimum length of each text. */
  readonly chars?: number
}

function textRecord(id: string, index: number, chars = 0): string {
  return recordOf(id, index, TIME, { type: 'text.delta', data: { text: `${id} ${index}`.padEnd(chars) } })
}

describe('[STO-1] [STO-2] SQLite recovery', () => {
  test('never gives the number of a removed run to another run', async () => {
    const path = temporaryDatabase()
    const store = await open(path)
    const long = await start(store, 'run_long')
    const gone = await finish(store, 'run_gone', 3)
    long.text('goes on')
    await long.flush()
    await store.remove(gone.id)
    const copy = temporaryDatabase()
    crashedCopy(path, copy)
    const again = await open(copy)
    const successor = await finish(again, 'run_heir', 3)
    expect(await read(again, successor.id)).toBe(successor.records.join(''))
    using database = new DatabaseSync(copy, { readOnly: true })
    expect(database.prepare('SELECT number, id FROM runs ORDER BY number').all()).toEqual([
      { number: 1, id: 'run_long' },
      { number: 3, id: 'run_heir' },
    ])
  })

  test('segments of a removed run are not attributed to a run that reuses its number', async () => {
    const path = temporaryDatabase()
    const gone = { number: 2, id: 'run_gone' }
    const successor = { number: 2, id: 'run_heir' }
    const long = { number: 1, id: 'run_long' }
    oldFile(
      path,
      [
        [1, 'run_long'],
        [2, 'run_heir'],
      ],
      [
        [
          { ...long, first: 0, count: 2 },
          { ...gone, first: 0, count: 3 },
        ],
        [
          { ...gone, first: 3, count: 2 },
          { ...long, first: 2, count: 1 },
        ],
        [
          { ...successor, first: 0, count: 4 },
          { number: 9, id: 'run_other', first: 0, count: 1 },
        ],
      ],
    )
    const warnings: string[] = []
    const store = await open(path, warnings)
    for (const [id, count] of [
      ['run_long', 3],
      ['run_heir', 4],
    ] as const) {
      expect(await read(store, id)).toBe(Array.from({ length: count }, (_, index) => textRecord(id, index)).join(''))
      expect((await store.get(id))!.damage).toBeUndefined()
    }
    expect(warnings).toEqual([expect.stringContaining('run run_heir'), expect.stringContaining('run run_heir')])
    await finish(store, 'run_next', 1)
    using database = new DatabaseSync(path, { readOnly: true })
    expect(database.prepare("SELECT number FROM runs WHERE id = 'run_next'").get()).toEqual({ number: 10 })
  })

  test('quarantines a run whose records do not follow, and serves all others', async () => {
    const path = temporaryDatabase()
    const torn = { number: 2, id: 'run_torn' }
    oldFile(
      path,
      [
        [1, 'run_long'],
        [2, 'run_torn'],
      ],
      [
        [
          { ...torn, first: 0, count: 2 },
          { number: 1, id: 'run_long', first: 0, count: 2 },
        ],
        [{ ...torn, first: 5, count: 2 }],
      ],
    )
    const warnings: string[] = []
    const store = await open(path, warnings)
    expect(warnings).toEqual([
      'run run_torn is quarantined: events 2 to 4 are missing from the log; other runs are not affected',
    ])
    const damage = { first: 2, last: 4, reason: 'are missing from the log' }
    expect(await store.get('run_torn')).toMatchObject({ damage })
    expect((await store.list({ limit: 10 })).runs.map(({ run }) => run.id)).toEqual(['run_torn', 'run_long'])
    await expect(store.read('run_torn', -1, 1000)).rejects.toMatchObject({
      code: 'log_damaged',
      details: { first: 2, last: 4 },
    })
    expect(await store.claimable(10)).toEqual(['run_long'])
    expect(await store.claim('run_torn', 'worker-1', 1000)).toBeUndefined()
    expect(events((await store.read('run_long', -1, 1000))!)).toHaveLength(2)
    expect(await store.remove('run_torn')).toBe(true)
    expect(await store.get('run_torn')).toBeUndefined()
  })

  test('moves a long log in windows of 16 MiB, each one transaction, and continues after a crash between them', () => {
    const path = temporaryDatabase()
    const rows = 40
    oldFile(
      path,
      [[1, 'run_long']],
      Array.from({ length: rows }, (_, first) => [{ number: 1, id: 'run_long', first, count: 1, chars: 1024 * 1024 }]),
    )
    using database = openDatabase(path)
    const segments = new SegmentWrites(database)
    const leftAfter: number[] = []
    const recover = (windows: number): void => {
      const recovery = new LogRecovery(database, segments, (work) => {
        if (leftAfter.length === windows) throw new Error('crash')
        database.exec('BEGIN')
        work()
        database.exec('COMMIT')
        leftAfter.push(
          Number(database.prepare('SELECT count(*) AS left FROM log WHERE length(data) > 0').get()!['left']),
        )
      })
      recovery.recover()
    }
    expect(() => recover(1)).toThrow('crash')
    recover(Infinity)
    expect(leftAfter).toEqual([24, 8, 0])
    expect(database.prepare('SELECT count(*) AS count, max(first) AS last FROM segments').get()).toEqual({
      count: rows,
      last: rows - 1,
    })
  })

  test('makes segments of at most 256 KiB of a log that was not compacted at all', async () => {
    const path = temporaryDatabase()
    const rows = Array.from({ length: 40 }, (_, row) => [
      { number: 1, id: 'run_long', first: row * 100, count: 100, chars: 200 },
    ])
    oldFile(path, [[1, 'run_long']], rows)
    const store = await open(path)
    expect(await read(store, 'run_long')).toBe(
      Array.from({ length: 4000 }, (_, index) => textRecord('run_long', index, 200)).join(''),
    )
    using database = new DatabaseSync(path, { readOnly: true })
    const { largest, bytes } = database
      .prepare('SELECT max(length(data)) AS largest, sum(length(data)) AS bytes FROM segments')
      .get()!
    expect(bytes).toBeGreaterThan(1024 * 1024)
    expect(largest).toBeLessThanOrEqual(256 * 1024)
  })

  test('quarantines an unfinished run whose records are gone', async () => {
    const path = temporaryDatabase()
    oldFile(path, [[1, 'run_bare']], [])
    const warnings: string[] = []
    const store = await open(path, warnings)
    expect(warnings).toEqual([expect.stringContaining('run run_bare is quarantined: events 0 to 0')])
    expect(await store.claimable(10)).toEqual([])
    await expect(store.read('run_bare', -1, 1000)).rejects.toMatchObject({ code: 'log_damaged' })
  })
})

describe('[STO-1] [STO-2] SQLite store in use', () => {
  test('quarantines a run that has a segment already, and takes the writes of all others', async () => {
    const path = temporaryDatabase()
    const warnings: string[] = []
    const store = await open(path, warnings)
    const victim = await start(store, 'run_victim')
    await victim.flush()
    using database = new DatabaseSync(path, { timeout: 5000 })
    database.exec(`INSERT INTO segments (run, first, count, data) VALUES (1, 0, 1, x'00')`)
    for (let index = 0; index < 100; index++) victim.text(`${index}`)
    await victim.flush()
    await expect.poll(() => warnings).toEqual([expect.stringContaining('run run_victim is quarantined')])
    expect(store.health()).toEqual({ ok: true, alarms: ['1 run is damaged and quarantined'] })
    await finish(store, 'run_other', 100)
    await expect(store.read('run_victim', -1, 1000)).rejects.toMatchObject({ code: 'log_damaged' })
    expect(() => victim.text('more')).toThrow('claimed again')
  })

  test('serves no record of another run', async () => {
    const path = temporaryDatabase()
    const first = await open(path)
    await finish(first, 'run_one', 5)
    await finish(first, 'run_two', 5)
    await first.close()
    using database = new DatabaseSync(path)
    database.exec(`UPDATE segments SET data = (SELECT data FROM segments WHERE run = 2) WHERE run = 1`)
    const store = await open(path)
    await expect(store.read('run_one', -1, 1000)).rejects.toMatchObject({ code: 'log_damaged' })
    await expect.poll(async () => (await store.get('run_one'))!.damage).toMatchObject({ first: 0, last: 7 })
    expect(await read(store, 'run_two')).toContain('run_two says 4')
  })

  test('serves no record of another run from the middle of a segment that an older version wrote', async () => {
    const path = temporaryDatabase()
    const first = await open(path)
    await finish(first, 'run_one', 5)
    await first.close()
    using database = new DatabaseSync(path)
    const { data } = database.prepare('SELECT data FROM segments WHERE run = 1').get() as { data: Uint8Array }
    const records = Buffer.from(data).toString().split('\n\n')
    const mixed = records.with(3, records[3]!.replace('"run":"run_one"', '"run":"run_two"')).join('\n\n')
    // Older versions wrote no checksums.
    database.prepare('UPDATE segments SET data = ?, crc = NULL WHERE run = 1').run(Buffer.from(mixed))
    const store = await open(path)
    await expect(store.read('run_one', -1, 10_000)).rejects.toMatchObject({ code: 'log_damaged' })
  })

  test('a run that is removed while it is trimmed stays removed', async () => {
    const path = temporaryDatabase()
    const store = await open(path)
    const gone = await finish(store, 'run_gone', 5)
    // More than one commit takes: the row of the trimmed run waits behind these.
    const others = await Promise.all(['a', 'b', 'c', 'd'].map((name) => start(store, `run_${name}`)))
    for (const runWriter of others) runWriter.text('x'.repeat(800_000))
    const trimmed = store.trim(gone.id, 3)
    const removed = store.remove(gone.id)
    await Promise.all([trimmed, removed, ...others.map((runWriter) => runWriter.flush())])
    expect(await store.get(gone.id)).toBeUndefined()
    await store.close()
    expect(await (await open(path)).get(gone.id)).toBeUndefined()
  })

  test('a removed run can be read until its removal is durable', async () => {
    const store = await open(temporaryDatabase())
    const gone = await finish(store, 'run_gone', 5)
    const removed = store.remove(gone.id)
    expect(await read(store, gone.id)).toBe(gone.records.join(''))
    expect(await removed).toBe(true)
    await expect(store.read(gone.id, -1, 1000)).rejects.toMatchObject({ code: 'not_found' })
  })
})
