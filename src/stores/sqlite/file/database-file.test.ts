import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connect, connectForReading, openDatabase, reopenDatabase } from './database-file.ts'
import { openSqliteStore } from '../index.ts'
import { readJournal } from './journal.ts'
import { lockFile } from './lock.ts'
import { APPLICATION_ID, SCHEMA_VERSION } from '../tables/schema.ts'

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-file-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A database with enough rows to be of many pages. */
function filledDatabase(path: string): void {
  using database = openDatabase(path)
  fill(database, 0, 200)
}

function fill(database: DatabaseSync, from: number, count: number): void {
  const insert = database.prepare('INSERT INTO log (seq, dir, data) VALUES (?, ?, ?)')
  database.exec('BEGIN')
  for (let seq = from; seq < from + count; seq++) {
    insert.run(seq, new Uint8Array(16), new Uint8Array(3000).fill(seq % 251))
  }
  database.exec('COMMIT')
}

function digest(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

/** The files of a folder with their content, except locks. */
function contents(folder: string): Record<string, string> {
  const files = readdirSync(folder).filter((file) => !file.endsWith('.lock'))
  return Object.fromEntries(
    files.map((file) => [file, statSync(join(folder, file)).isFile() ? digest(join(folder, file)) : 'no file']),
  )
}

describe('SQLite: a missing file', () => {
  test('is made, as a database of ours that syncs what it commits', () => {
    const folder = temporaryFolder()
    const path = join(folder, 'runs.db')
    using database = openDatabase(path)
    const value = (name: string): unknown => Object.values(database.prepare(`PRAGMA ${name}`).get()!)[0]
    expect(value('application_id')).toBe(APPLICATION_ID)
    expect(value('user_version')).toBe(SCHEMA_VERSION)
    expect(value('journal_mode')).toBe('wal')
    expect(value('synchronous')).toBe(2)
    expect(readdirSync(folder)).not.toContain('runs.db.new')
  })

  test('is made where an earlier attempt was cut off', () => {
    const folder = temporaryFolder()
    const path = join(folder, 'runs.db')
    for (const suffix of ['', '-wal', '-shm']) writeFileSync(`${path}.new${suffix}`, 'half a draft')
    openDatabase(path).close()
    expect(readdirSync(folder)).toEqual(['runs.db'])
  })

  test('is not made while its journal is there: that would be a database without its past', () => {
    const folder = temporaryFolder()
    const path = join(folder, 'runs.db')
    writeFileSync(`${path}-wal`, 'what is left')
    expect(() => openDatabase(path)).toThrow(`${path} is missing but its journal ${path}-wal is there`)
    expect(readdirSync(folder)).toEqual(['runs.db-wal'])
  })

  test('is not made by a connection to a missing file: that would be an empty store instead of a lost one', () => {
    const folder = temporaryFolder()
    for (const open of [connect, connectForReading, reopenDatabase])
      expect(() => open(join(folder, 'runs.db'))).toThrow('unable to open database file')
    expect(readdirSync(folder)).toEqual([])
  })

  test('is made with the folders above it', async () => {
    const path = join(temporaryFolder(), 'a', 'b', 'runs.db')
    const store = await openSqliteStore({ path })
    await store.close()
    expect(existsSync(path)).toBe(true)
  })
})

describe('SQLite: an existing file', () => {
  test('opens with all of its data', () => {
    const path = join(temporaryFolder(), 'runs.db')
    filledDatabase(path)
    using database = openDatabase(path)
    expect(database.prepare('SELECT count(*) AS rows FROM log').get()).toEqual({ rows: 200 })
  })

  test('is opened after a crash, with what only the journal has', () => {
    const crashed = crash(temporaryFolder())
    using database = openDatabase(crashed)
    expect(database.prepare('SELECT count(*) AS rows FROM log').get()).toEqual({ rows: 250 })
  })

  test('is opened after a crash, with a journal of several pieces whose pages the file lacks', () => {
    const folder = temporaryFolder()
    const path = join(folder, 'runs.db')
    const database = openDatabase(path)
    database.exec('PRAGMA wal_autocheckpoint = 0')
    fill(database, 0, 4000)
    const crashed = copyOf(path, join(folder, 'crashed.db'))
    database.close()
    expect(statSync(`${crashed}-wal`).size).toBeGreaterThan(3 * 4 * 1024 * 1024)
    using again = openDatabase(crashed)
    expect(again.prepare('SELECT count(*) AS rows FROM log').get()).toEqual({ rows: 4000 })
  })

  test('is opened after a crash in the middle of a checkpoint, when its journal is one commit of several pieces', () => {
    const folder = temporaryFolder()
    const path = join(folder, 'runs.db')
    const database = openDatabase(path)
    database.exec('PRAGMA wal_autocheckpoint = 0')
    fill(database, 0, 4000)
    const crashed = copyOf(path, join(folder, 'crashed.db'))
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    database.close()
    checkpointFirstPage(crashed, path)
    using again = openDatabase(crashed)
    expect(again.prepare('SELECT count(*) AS rows FROM log').get()).toEqual({ rows: 4000 })
  })

  test('all pieces of its journal are read', () => {
    const folder = temporaryFolder()
    const path = join(folder, 'runs.db')
    using database = openDatabase(path)
    const { page_size: pageBytes } = database.prepare('PRAGMA page_size').get() as { page_size: number }
    const filePages = statSync(path).size / pageBytes
    database.exec('PRAGMA wal_autocheckpoint = 0')
    for (let from = 0; from < 4000; from += 500) fill(database, from, 500)
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(3 * 4 * 1024 * 1024)
    const { page_count: pages } = database.prepare('PRAGMA page_count').get() as { page_count: number }
    const journal = readJournal(`${path}-wal`, pageBytes, filePages)
    expect(journal.pages).toBe(pages)
    expect([...journal.beyond].toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: pages - filePages }, (_, at) => filePages + 1 + at),
    )
  })

  test('is opened although its journal is larger than 2 GiB', () => {
    const crashed = crash(temporaryFolder())
    truncateSync(`${crashed}-wal`, 3 * 1024 ** 3) // sparse, and what a checkpoint would have left behind
    using database = openDatabase(crashed)
    expect(database.prepare('SELECT count(*) AS rows FROM log').get()).toEqual({ rows: 250 })
  })

  test('shrinks its journal once everything is in the database', () => {
    const path = join(temporaryFolder(), 'runs.db')
    using database = openDatabase(path)
    database.exec('PRAGMA wal_autocheckpoint = 0')
    fill(database, 0, 8000)
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(24 * 1024 ** 2)
    database.exec('PRAGMA wal_checkpoint(PASSIVE)')
    fill(database, 8000, 1)
    expect(statSync(`${path}-wal`).size).toBeLessThanOrEqual(16 * 1024 ** 2)
  })

  test('is opened after a crash in the middle of a checkpoint, when it is shorter than it says', () => {
    const folder = temporaryFolder()
    const crashed = crash(folder)
    const whole = join(folder, 'whole.db')
    copyOf(crashed, whole)
    connect(whole).close()
    checkpointFirstPage(crashed, whole)
    using database = openDatabase(crashed)
    expect(database.prepare('SELECT count(*) AS rows FROM log').get()).toEqual({ rows: 250 })
  })
})

/** Damage to a database file, or another file in its place, and the expected error. */
const damages: Readonly<Record<string, readonly [damage: (path: string) => void, said: RegExp]>> = {
  'is empty': [(path) => truncateSync(path, 0), /is damaged: it has 0 bytes/],
  'has not even a header': [(path) => truncateSync(path, 60), /is damaged: it has 60 bytes/],
  'is cut to its header': [(path) => truncateSync(path, 100), /is damaged: it has 100 bytes of \d+/],
  'is cut to half': [
    (path) => truncateSync(path, Math.floor(statSync(path).size / 2)),
    /is damaged: it has \d+ bytes of \d+/,
  ],
  'lacks one byte': [(path) => truncateSync(path, statSync(path).size - 1), /is damaged: it has \d+ bytes of \d+/],
  'is garbage': [(path) => writeFileSync(path, 'garbage '.repeat(5000)), /is not a SQLite database/],
  'is garbage behind a header': [(path) => overwrite(path, 20, statSync(path).size), /is damaged/],
  'has garbage for a first page': [(path) => overwrite(path, 100, 4096), /is damaged/],
  'is a database of another program': [replaceByForeign, /is a SQLite database of another program/],
  'is of a newer version': [
    (path) => execute(path, `PRAGMA user_version = ${SCHEMA_VERSION + 1}`),
    /was written by a newer Holdfast/,
  ],
  'is a folder': [replaceByFolder, /is a folder|is a directory|is not a file/],
}

describe.each(Object.entries(damages))('SQLite: a file that %s', (_name, [damage, output]) => {
  const damaged = (): { folder: string; path: string } => {
    const folder = temporaryFolder()
    const path = join(folder, 'runs.db')
    filledDatabase(path)
    damage(path)
    return { folder, path }
  }

  test('is refused by name, and is not changed', () => {
    const { folder, path } = damaged()
    const before = contents(folder)
    const refusal = refusalOf(() => openDatabase(path))
    expect(refusal).toMatch(output)
    expect(refusal).toContain(path)
    expect(contents(folder)).toEqual(before)
  })

  test('is refused by the store too, which releases it', async () => {
    const { folder, path } = damaged()
    const before = contents(folder)
    await expect(openSqliteStore({ path })).rejects.toThrow(output)
    expect(contents(folder)).toEqual(before)
    lockFile(path).release()
  })
})

test('SQLite: a file with garbage in the middle is refused by its name when that page is read', async () => {
  const path = join(temporaryFolder(), 'runs.db')
  filledDatabase(path)
  const half = statSync(path).size / 2
  overwrite(path, half, 2 * half)
  const before = readFileSync(path).subarray(half)
  await expect(openSqliteStore({ path })).rejects.toThrow(`${path} is damaged`)
  expect(readFileSync(path).subarray(half).equals(before)).toBe(true)
})

test('SQLite: a truncated file whose journal holds only a part of it is refused, and is not changed', () => {
  const folder = temporaryFolder()
  const path = crash(folder)
  truncateSync(path, Math.floor(statSync(path).size / 2))
  const before = contents(folder)
  const refusal = refusalOf(() => openDatabase(path))
  expect(refusal).toContain('is damaged')
  expect(refusal).toContain(path)
  const { 'crashed.db-shm': _index, ...after } = contents(folder)
  expect(after).toEqual(before)
})

/** The files of a process that died: 200 rows in the database, 50 more in its journal only. */
function crash(folder: string): string {
  const path = join(folder, 'runs.db')
  const crashed = join(folder, 'crashed.db')
  filledDatabase(path)
  const database = openDatabase(path)
  fill(database, 200, 50)
  copyOf(path, crashed)
  database.close()
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
  return crashed
}

/** The files of a database in use, as a crash would leave them. */
function copyOf(path: string, copy: string): string {
  for (const suffix of ['', '-wal']) copyFileSync(path + suffix, copy + suffix)
  return copy
}

/** A checkpoint that got as far as the first page: the header is new, the pages that it counts are in the journal only. */
function checkpointFirstPage(path: string, whole: string): void {
  const file = readFileSync(path)
  readFileSync(whole).copy(file, 0, 0, file.readUInt16BE(16))
  writeFileSync(path, file)
  expect(statSync(whole).size).toBeGreaterThan(file.length)
}

function overwrite(path: string, from: number, to: number): void {
  writeFileSync(path, readFileSync(path).fill(0xab, from, to))
}

function execute(path: string, sql: string): void {
  using database = new DatabaseSync(path)
  database.exec(sql)
}

function replaceByForeign(path: string): void {
  rmSync(path)
  execute(path, "CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')")
}

function replaceByFolder(path: string): void {
  rmSync(path)
  mkdirSync(path)
}

function refusalOf(act: () => unknown): string {
  try {
    act()
  } catch (thrown) {
    return String(thrown)
  }
  throw new Error('it was not refused')
}
