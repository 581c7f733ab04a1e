/** Opening the database file: who may, and what state it must be in. A damaged file is refused, never reset. */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { messageOf } from '../../core/errors.ts'
import { migrate } from './schema.ts'

/** Held by a process for as long as it uses a database file; the system lets it go when the process dies. */
export interface FileLock {
  release(): void
}

/**
 * One process at a time: what the store keeps in memory is then the truth, and a claim found at opening is a dead process's.
 * The lock is that of a second SQLite file, since the database itself is opened by several threads.
 */
export function lockFile(path: string): FileLock {
  mkdirSync(dirname(path), { recursive: true })
  const guard = new DatabaseSync(`${path}.lock`, { timeout: 0 })
  try {
    guard.exec('BEGIN EXCLUSIVE')
  } catch (cause) {
    guard.close()
    throw new Error(`${path} is in use by another process; stop that one, or give this one another --store`, { cause })
  }
  return { release: () => guard.close() }
}

/** Opens the file, making it if there is none, and brings its schema up to date. */
export function openDatabase(path: string): DatabaseSync {
  if (!existsSync(path)) createDatabase(path)
  checkSize(path)
  try {
    const database = connect(path)
    migrate(database, path)
    return database
  } catch (cause) {
    throw damageOr(path, cause)
  }
}

/** A connection to a file that `openDatabase` has accepted. */
export function connect(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 5000 })
  // FULL: a commit returns when the disk has it, which is what makes an event durable before it is visible (LOG-2).
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = OFF',
  )
  return database
}

/** The file appears under its name only when it is whole, so an empty file there is damage and not a first start. */
function createDatabase(path: string): void {
  if (existsSync(`${path}-wal`)) {
    throw new Error(
      `${path} is missing but its journal ${path}-wal is there; put the database back, or move the journal away to start anew`,
    )
  }
  const draft = `${path}.new`
  for (const suffix of ['', '-wal', '-shm']) rmSync(draft + suffix, { force: true })
  const database = connect(draft)
  migrate(database, draft)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
  renameSync(draft, path)
  const directory = openSync(dirname(path), 'r')
  fsyncSync(directory)
  closeSync(directory)
}

const HEADER_BYTES = 100

/** SQLite would take an empty file for a new database, and notice a cut one only when a reader gets to the missing part. */
function checkSize(path: string): void {
  const size = statSync(path).size
  if (size < HEADER_BYTES) throw new Error(`${path} is damaged: it has ${size} bytes; ${ADVICE}`)
  const header = Buffer.alloc(HEADER_BYTES)
  const file = openSync(path, 'r')
  readSync(file, header, 0, HEADER_BYTES, 0)
  closeSync(file)
  if (header.toString('latin1', 0, 15) !== 'SQLite format 3')
    throw new Error(`${path} is not a SQLite database; ${ADVICE}`)
  if (existsSync(`${path}-wal`) && statSync(`${path}-wal`).size > 0) return // the journal may hold the pages that the file lacks
  const pageBytes = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16)
  const expected = pageBytes * header.readUInt32BE(28)
  if (size < expected) throw new Error(`${path} is damaged: it has ${size} bytes of ${expected}; ${ADVICE}`)
}

const ADVICE = 'restore it from a backup, or move it away to start with an empty store'
const SQLITE_CORRUPT = 11
const SQLITE_NOTADB = 26

function damageOr(path: string, cause: unknown): unknown {
  const code = (cause as { errcode?: number }).errcode
  if (code !== SQLITE_CORRUPT && code !== SQLITE_NOTADB) return cause
  return new Error(`${path} is damaged (${messageOf(cause)}); ${ADVICE}`, { cause })
}
