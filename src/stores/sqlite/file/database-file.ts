/** Opens the database file and checks its state. A damaged file is refused, never reset. */
import { closeSync, existsSync, fsyncSync, openSync, readSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { makeFile } from './file-access.ts'
import { readJournal } from './journal.ts'
import { checkVersion, migrate } from '../tables/schema.ts'
import { DAMAGE_ADVICE, damagedFileError, damageOr } from './sqlite-errors.ts'

/**
 * Opens the file, creating it if needed, and migrates its schema. A refused file is left unchanged. Not for a file that this
 * process has open: closing another descriptor would drop the POSIX locks of those connections.
 */
export function openDatabase(path: string): DatabaseSync {
  if (!existsSync(path)) createDatabase(path)
  checkFile(path)
  return reopenDatabase(path)
}

/** Opens a file that `openDatabase` has accepted before, and that this process may have open. */
export function reopenDatabase(path: string): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    database = connect(path)
    migrate(database, path)
    return database
  } catch (cause) {
    database?.close()
    throw damageOr(path, cause)
  }
}

/** How long a statement waits for the lock of another connection. */
export const BUSY_TIMEOUT_MS = 5000

/** The journal is truncated to this size after a full checkpoint, so that a slow reader leaves no large file behind. */
const JOURNAL_BYTES_KEPT = 16 * 1024 * 1024

/** Connects to an existing file. */
export function connect(path: string): DatabaseSync {
  // auto_vacuum applies only to a new file. FULL: a commit returns after the sync, so that an event is durable before it is
  // visible (LOG-2).
  return connectWith(
    path,
    `PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;
      PRAGMA journal_size_limit = ${JOURNAL_BYTES_KEPT}`,
  )
}

/** Connects for reading only. It sets nothing that takes the write lock, so it never waits for a commit. */
export function connectForReading(path: string): DatabaseSync {
  return connectWith(path, 'PRAGMA query_only = ON; PRAGMA temp_store = MEMORY')
}

function connectWith(path: string, pragmas: string): DatabaseSync {
  const url = pathToFileURL(path)
  url.searchParams.set('mode', 'rw') // never creates a file: that would be an empty store instead of a lost one
  const database = new DatabaseSync(url, { timeout: BUSY_TIMEOUT_MS })
  try {
    database.exec(pragmas)
    return database
  } catch (cause) {
    database.close()
    throw cause
  }
}

/** Path of a restore's copy until it replaces the file. */
export function restoreDraftOf(path: string): string {
  return `${path}.restore`
}

/** The file gets its name only when it is complete, so an empty file is damage, not a first start. */
function createDatabase(path: string): void {
  if (existsSync(`${path}-wal`)) {
    throw new Error(
      `${path} is missing but its journal ${path}-wal is there; put the database back, or move the journal away to start with an empty store`,
    )
  }
  if (existsSync(restoreDraftOf(path))) {
    throw new Error(
      `${path} is missing and ${restoreDraftOf(path)} is there: a restore was cut off; run it again, or remove that file to start with an empty store`,
    )
  }
  const draft = `${path}.new`
  for (const suffix of ['', '-wal', '-shm']) rmSync(draft + suffix, { force: true })
  makeFile(draft)
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

/**
 * Runs before SQLite opens the file: SQLite would take an empty file for a new database, notice a truncated one only when a reader
 * reaches the missing part, and switch another program's file to Holdfast's journal mode.
 */
function checkFile(path: string): void {
  const stats = statSync(path)
  if (!stats.isFile()) throw new Error(`${path} is not a file; give Holdfast a file of its own`)
  if (stats.size < HEADER_BYTES) throw damagedFileError(path, `it has ${stats.size} bytes`)
  const header = Buffer.alloc(HEADER_BYTES)
  const file = openSync(path, 'r')
  readSync(file, header, 0, HEADER_BYTES, 0)
  closeSync(file)
  if (header.toString('latin1', 0, 15) !== 'SQLite format 3')
    throw new Error(`${path} is not a SQLite database; ${DAMAGE_ADVICE}`)
  const pageBytes = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16)
  if (pageBytes < 512) throw damagedFileError(path, 'its header makes no sense')
  checkLength(path, stats.size, pageBytes, header.readUInt32BE(28))
  checkVersion(header.readUInt32BE(68), header.readUInt32BE(60), path)
}

/** Every page must be in the file or in the journal. */
function checkLength(path: string, size: number, pageBytes: number, headerPages: number): void {
  const filePages = Math.floor(size / pageBytes)
  const journal = readJournal(`${path}-wal`, pageBytes, filePages)
  const pages = journal.pages ?? headerPages
  for (let page = filePages + 1; page <= pages; page++) {
    if (!journal.beyond.has(page)) throw damagedFileError(path, `it has ${size} bytes of ${pages * pageBytes}`)
  }
}
