import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { APPLICATION_ID, migrate, SCHEMA_VERSION } from './schema.ts'

const PATH = 'runs.db'

function pragma(database: DatabaseSync, name: string): unknown {
  return database.prepare(`PRAGMA ${name}`).get()![name]
}

function objects(database: DatabaseSync): unknown[] {
  return database.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY name').all()
}

describe('SQLite: migrate', () => {
  test('makes the tables in a file that is new, and marks it as ours', () => {
    using database = new DatabaseSync(':memory:')
    migrate(database, PATH)
    expect(pragma(database, 'user_version')).toBe(SCHEMA_VERSION)
    expect(pragma(database, 'application_id')).toBe(APPLICATION_ID)
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all()
    expect(tables.map(({ name }) => name)).toEqual([
      'counters',
      'deletions',
      'documents',
      'instance',
      'log',
      'runs',
      'segments',
      'usage',
    ])
  })

  test('changes nothing in a file of this version', () => {
    using database = new DatabaseSync(':memory:')
    migrate(database, PATH)
    database.exec("INSERT INTO log (seq, dir, data) VALUES (1, x'00', x'00')")
    const before = objects(database)
    migrate(database, PATH)
    expect(objects(database)).toEqual(before)
    expect(database.prepare('SELECT count(*) AS rows FROM log').get()).toEqual({ rows: 1 })
  })

  test('gives a document to every session of a file that had none', () => {
    using database = new DatabaseSync(':memory:')
    migrate(database, PATH, 1)
    const insert = database.prepare(`INSERT INTO runs
      (number, id, owner, component, session, status, created, epoch, first, next, run)
      VALUES (?, ?, ?, ?, ?, 'completed', ?, 1, 0, 1, '{}')`)
    insert.run(1, 'run-1', 'anna', 'teller', 'tale', '2026-01-02')
    insert.run(2, 'run-2', 'anna', 'earlier', 'tale', '2026-01-01')
    insert.run(3, 'run-3', 'anna', 'later', 'tale', '2026-01-03')
    insert.run(4, 'run-4', 'bert', 'teller', 'tale', '2026-01-05')
    insert.run(5, 'run-5', 'anna', 'teller', 'other', '2026-01-04')
    migrate(database, PATH)
    const columns = 'owner, id, collection, label, title, version, created, updated, body'
    const session = { collection: 'session', title: null, version: 1, body: '{}' }
    expect(database.prepare(`SELECT ${columns} FROM documents ORDER BY owner, id`).all()).toEqual([
      { ...session, owner: 'anna', id: 'other', label: 'teller', created: '2026-01-04', updated: '2026-01-04' },
      { ...session, owner: 'anna', id: 'tale', label: 'earlier', created: '2026-01-01', updated: '2026-01-03' },
      { ...session, owner: 'bert', id: 'tale', label: 'teller', created: '2026-01-05', updated: '2026-01-05' },
    ])
    expect(pragma(database, 'user_version')).toBe(SCHEMA_VERSION)
  })

  test('counts what each owner of an older file has stored', () => {
    using database = new DatabaseSync(':memory:')
    migrate(database, PATH, 5)
    const insert = database.prepare(`INSERT INTO runs
      (number, id, owner, component, session, status, created, epoch, first, next, run)
      VALUES (?, ?, ?, 'teller', 'tale', 'completed', '2026-01-02', 1, 0, 1, '{}')`)
    insert.run(1, 'run-1', 'anna')
    insert.run(2, 'run-2', 'anna')
    database.exec(
      `INSERT INTO segments VALUES (1, 0, 1, zeroblob(100)), (1, 1, 1, zeroblob(10)), (2, 0, 1, zeroblob(1))`,
    )
    database.exec(`INSERT INTO documents (owner, collection, id, search, version, created, updated, body)
      VALUES ('bert', 'notes', 'n', '', 1, '', '', '"é"')`)
    migrate(database, PATH)
    expect(database.prepare('SELECT * FROM usage ORDER BY owner').all()).toEqual([
      { owner: 'anna', runs: 2, log_bytes: 111, documents: 0, document_bytes: 0 },
      { owner: 'bert', runs: 0, log_bytes: 0, documents: 1, document_bytes: 4 },
    ])
  })

  test.each([1, 7])('refuses a file that is %i versions newer, and says which versions', (ahead) => {
    using database = new DatabaseSync(':memory:')
    migrate(database, PATH)
    database.exec(`PRAGMA user_version = ${SCHEMA_VERSION + ahead}`)
    const before = objects(database)
    const message = `${PATH} was written by a newer Holdfast (schema ${SCHEMA_VERSION + ahead}; this version knows up to ${SCHEMA_VERSION})`
    expect(() => migrate(database, PATH)).toThrow(message)
    expect(objects(database)).toEqual(before)
    expect(pragma(database, 'user_version')).toBe(SCHEMA_VERSION + ahead)
  })

  test.each<[string, string]>([
    ['has another application id', 'PRAGMA application_id = 7'],
    ['has tables and no application id', 'CREATE TABLE notes (text)'],
    ['has tables that are named like ours', 'CREATE TABLE runs (id TEXT)'],
    ['has a version and no application id', 'PRAGMA user_version = 1'],
    [
      'has another application id, and our version',
      `PRAGMA application_id = 7; PRAGMA user_version = ${SCHEMA_VERSION}`,
    ],
  ])('refuses a file that %s, and changes nothing in it', (_name, setUp) => {
    using database = new DatabaseSync(':memory:')
    database.exec(setUp)
    const before = [objects(database), pragma(database, 'user_version'), pragma(database, 'application_id')]
    expect(() => migrate(database, PATH)).toThrow(`${PATH} is a SQLite database of another program`)
    expect([objects(database), pragma(database, 'user_version'), pragma(database, 'application_id')]).toEqual(before)
  })

  test('a failed migration leaves nothing half done', () => {
    const path = join(mkdtempSync(join(tmpdir(), 'holdfast-schema-')), 'runs.db')
    onTestFinished(() => rmSync(dirname(path), { recursive: true }))
    const database = new DatabaseSync(path)
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; CREATE TABLE segments (run)`)
    const before = objects(database)
    expect(() => migrate(database, path)).toThrow('already exists')
    database.close()
    using reopened = new DatabaseSync(path)
    expect(objects(reopened)).toEqual(before)
    expect(pragma(reopened, 'user_version')).toBe(0)
  })
})
