import { copyFileSync, existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { temporaryDatabase, temporaryFolder } from '../../../../test/support/temporary.ts'
import { until } from '../../../../test/support/until.ts'
import type { Store } from '../../../core/ports/store.ts'
import { newRun } from '../../../testing/fixtures.ts'
import { backUp, restore, vacuum } from './backup.ts'
import { commitRecordOf } from './commit-record.ts'
import { openSqliteStore } from '../index.ts'

const nothing = (): void => {}

async function opened(path: string): Promise<Store> {
  const store = await openSqliteStore({ path })
  onTestFinished(() => store.close())
  return store
}

async function create(store: Store, id: string): Promise<void> {
  await store.create(newRun(id, new Date().toISOString()))
}

/** A store with these runs, closed. */
async function storeWith(path: string, ...ids: string[]): Promise<void> {
  const store = await openSqliteStore({ path })
  for (const id of ids) await create(store, id)
  await store.close()
}

async function idsIn(path: string): Promise<string[]> {
  const store = await openSqliteStore({ path })
  const { runs } = await store.list({ limit: 1000 })
  await store.close()
  return runs.map(({ run }) => run.id).toSorted()
}

function valueIn(path: string, sql: string): unknown {
  using database = new DatabaseSync(path)
  const row = database.prepare(sql).get()
  return row && Object.values(row)[0]
}

describe('SQLite: a backup', () => {
  test('a backup of a store in use is consistent and has everything acknowledged before it began', async () => {
    const path = temporaryDatabase()
    const store = await opened(path)
    const body = { text: 'x'.repeat(50_000) }
    for (let id = 0; id < 200; id++)
      await store.documents.put({ owner: 'anna', collection: 'notes', id: String(id), body })
    await create(store, 'run-before')
    let going = true
    let during = 0
    const writing = (async () => {
      while (going) await create(store, `run-${during++}`)
    })()
    const progress: string[] = []
    const to = join(temporaryFolder(), 'deeper', 'backup.db')
    const report = await backUp(path, to, (done) => progress.push(done === 'verifying' ? done : 'copied'))
    const acknowledged = during
    await until('the store goes on', () => during > acknowledged)
    going = false
    await writing

    expect(progress.at(-1)).toBe('verifying')
    expect(readdirSync(dirname(to))).toEqual(['backup.db'])
    expect((statSync(to).mode & 0o777).toString(8)).toBe('600')
    expect(valueIn(to, 'SELECT count(*) FROM instance')).toBe(0)
    const ids = await idsIn(to)
    expect(ids).toContain('run-before')
    // Those that were created meanwhile are there up to some moment, without a gap.
    expect(ids.toSorted()).toEqual(
      ['run-before', ...Array.from({ length: report.runs - 1 }, (_, place) => `run-${place}`)].toSorted(),
    )
  })

  test('a backup is one snapshot: commits between its steps do not restart it', async () => {
    const path = temporaryDatabase()
    await storeWith(path, 'run-1')
    using other = new DatabaseSync(path)
    // More than two steps.
    other.exec('CREATE TABLE filler (bytes BLOB); INSERT INTO filler VALUES (zeroblob(40000000))')
    const to = join(temporaryFolder(), 'backup.db')
    const copied: number[] = []
    await backUp(path, to, (done) => {
      if (done === 'verifying') return
      copied.push(done.copied)
      if (copied.length <= 2) other.exec('INSERT INTO filler VALUES (zeroblob(1))')
    })
    expect(copied.length).toBeGreaterThan(1)
    expect(copied).toEqual(copied.toSorted((a, b) => a - b))
    expect(valueIn(to, 'SELECT count(*) FROM filler')).toBe(1)
  })

  test('a backup of a store whose index does not match its table fails and leaves no file', async () => {
    const path = temporaryDatabase()
    await storeWith(path, 'run-1')
    {
      using database = new DatabaseSync(path)
      database.enableDefensive(false)
      database.exec(`PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'owner, session', 'owner, component')
        WHERE name = 'runs_by_owner_session'`)
    }
    const folder = temporaryFolder()
    await expect(backUp(path, join(folder, 'backup.db'), nothing)).rejects.toThrow('is damaged')
    expect(readdirSync(folder)).toEqual([])
  })

  test('never overwrites a file', async () => {
    const path = temporaryDatabase()
    await storeWith(path, 'run-1')
    const to = join(temporaryFolder(), 'backup.db')
    writeFileSync(to, 'mine')
    await expect(backUp(path, to, nothing)).rejects.toThrow(`${to} already exists`)
    expect(readFileSync(to, 'utf8')).toBe('mine')
  })

  test('a backup of a damaged store fails and leaves no file', async () => {
    const path = temporaryDatabase()
    await storeWith(path, 'run-1')
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0xab, 2 * 4096, bytes.length))
    const folder = temporaryFolder()
    await expect(backUp(path, join(folder, 'backup.db'), nothing)).rejects.toThrow('is damaged')
    expect(readdirSync(folder)).toEqual([])
  })

  test('[STO-1] a backup of a store with a damaged run has all other runs, and names the damage', async () => {
    const path = temporaryDatabase()
    await storeWith(path, 'run-1', 'run-2')
    {
      using database = new DatabaseSync(path)
      database.exec("UPDATE segments SET crc = crc + 1 WHERE run = (SELECT number FROM runs WHERE id = 'run-1')")
    }
    const to = join(temporaryFolder(), 'backup.db')
    const { runs, damage } = await backUp(path, to, nothing)
    expect(runs).toBe(2)
    expect(damage).toMatchObject({ problems: [expect.stringContaining('damaged')], problemCount: 1 })
    const restored = temporaryDatabase()
    expect((await restore(to, restored, nothing)).damage).toEqual(damage)
    expect(await idsIn(restored)).toContain('run-2')
  })

  test('a backup of another program’s file is rejected', async () => {
    const path = temporaryDatabase()
    using foreign = new DatabaseSync(path)
    foreign.exec('CREATE TABLE notes (text)')
    await expect(backUp(path, `${path}.backup`, nothing)).rejects.toThrow('of another program')
  })
})

describe('SQLite: a restore', () => {
  test('brings the runs of the backup back, and keeps the store that was there with its journal', async () => {
    const path = temporaryDatabase()
    await storeWith(path, 'run-1')
    const from = join(temporaryFolder(), 'backup.db')
    await backUp(path, from, nothing)
    // The server has died since: what it wrote last is only in the journal.
    const store = await openSqliteStore({ path })
    await create(store, 'run-2')
    for (const suffix of ['', '-wal']) copyFileSync(path + suffix, `${path}.crashed${suffix}`)
    await store.close()
    for (const suffix of ['', '-wal']) renameSync(`${path}.crashed${suffix}`, path + suffix)

    const { runs, replaced } = await restore(from, path, nothing)
    expect(runs).toBe(1)
    expect(await idsIn(path)).toEqual(['run-1'])
    expect(await idsIn(replaced!)).toEqual(['run-1', 'run-2'])
    expect(await idsIn(from)).toEqual(['run-1'])
  })

  test('moves the record of the last commit away with the store that it belongs to', async () => {
    const path = temporaryDatabase()
    await storeWith(path, 'run-1')
    const from = join(temporaryFolder(), 'backup.db')
    await backUp(path, from, nothing)
    await storeWith(path, 'run-2')
    const before = readFileSync(commitRecordOf(path))
    const { replaced } = await restore(from, path, nothing)
    expect(existsSync(commitRecordOf(path))).toBe(false)
    expect(readFileSync(commitRecordOf(replaced!)).equals(before)).toBe(true)
  })

  test('works where there is no store yet', async () => {
    const from = temporaryDatabase()
    await storeWith(from, 'run-1')
    const path = join(temporaryFolder(), 'deeper', 'runs.db')
    expect(await restore(from, path, nothing)).not.toHaveProperty('replaced')
    expect(await idsIn(path)).toEqual(['run-1'])
  })

  test('is refused while the store is in use, and nothing changes', async () => {
    const from = temporaryDatabase()
    await storeWith(from, 'run-1')
    const path = temporaryDatabase()
    const store = await opened(path)
    await create(store, 'run-2')
    await expect(restore(from, path, nothing)).rejects.toThrow(`${path} is in use`)
    expect(await store.get('run-2')).toBeDefined()
    expect(store.health()).toEqual({ ok: true })
  })

  test('a restore of a damaged backup fails, and the store stays as it was', async () => {
    const from = temporaryDatabase()
    await storeWith(from, 'run-1')
    const bytes = readFileSync(from)
    writeFileSync(from, bytes.fill(0xab, 2 * 4096, bytes.length))
    const path = temporaryDatabase()
    await storeWith(path, 'run-2')
    await expect(restore(from, path, nothing)).rejects.toThrow('is damaged')
    expect(await idsIn(path)).toEqual(['run-2'])
    expect(readdirSync(dirname(path)).toSorted()).toEqual(['runs.db', 'runs.db-commits', 'runs.db.lock'])
  })

  test('a server does not start with an empty store after a restore that was cut off', async () => {
    const path = temporaryDatabase()
    await storeWith(path, 'run-1')
    renameSync(path, `${path}.restore`)
    await expect(openSqliteStore({ path })).rejects.toThrow('a restore was cut off')
    expect(existsSync(path)).toBe(false)
  })
})

describe('SQLite: space', () => {
  const body = { text: 'x'.repeat(60_000) }
  const ids = Array.from({ length: 800 }, (_, id) => String(id))

  /** Some fifty megabytes, in commits that a busy disk can take. */
  async function fill(store: Store): Promise<void> {
    for (let from = 0; from < ids.length; from += 20)
      await Promise.all(
        ids.slice(from, from + 20).map((id) => store.documents.put({ owner: 'anna', collection: 'notes', id, body })),
      )
  }

  async function removeMost(store: Store): Promise<void> {
    for (const id of ids.slice(1)) await store.documents.remove('anna', 'notes', id)
  }

  test('is returned automatically, in slices, while the store is used', async () => {
    const path = temporaryDatabase()
    const store = await opened(path)
    await fill(store)
    await until('it is in the file', () => statSync(path).size > 40e6, { withinMs: 180_000 })
    await removeMost(store)
    await until('the file is small again', () => statSync(path).size < 25e6, { withinMs: 180_000 })
    expect(await store.documents.get('anna', 'notes', '0')).toMatchObject({ body })
  })

  test('a file of an older version shrinks with a vacuum, which turns on incremental vacuum', async () => {
    const path = temporaryDatabase()
    await storeWith(path, 'run-1')
    {
      using old = new DatabaseSync(path)
      old.exec('PRAGMA auto_vacuum = NONE; PRAGMA journal_mode = DELETE; VACUUM')
    }
    const store = await openSqliteStore({ path })
    await fill(store)
    await removeMost(store)
    await store.close()
    expect(valueIn(path, 'PRAGMA auto_vacuum')).toBe(0)
    expect(statSync(path).size).toBeGreaterThan(40e6)
    const { runs, bytes } = vacuum(path, nothing)
    expect(runs).toBe(1)
    expect(bytes).toBe(statSync(path).size)
    expect(bytes).toBeLessThan(1e6)
    expect(valueIn(path, 'PRAGMA auto_vacuum')).toBe(2)
    expect(await idsIn(path)).toEqual(['run-1'])
    expect(readdirSync(dirname(path)).toSorted()).toEqual(['runs.db', 'runs.db-commits', 'runs.db.lock'])
    expect((statSync(path).mode & 0o777).toString(8)).toBe('600')
  })
})
