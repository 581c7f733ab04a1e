/** Opening the database file: who may, and what state it must be in. A damaged file is refused, never reset. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { messageOf } from '../../core/errors.ts'
import { checkVersion, migrate } from './schema.ts'

/** Held by a process for as long as it uses a database file; the system lets it go when the process dies. */
export interface FileLock {
  release(): void
}

const SQLITE_BUSY = 5
const SQLITE_CORRUPT = 11
const SQLITE_NOTADB = 26

/**
 * One process at a time: what the store keeps in memory is then the truth, and a claim found at opening is a dead process's.
 * The lock is that of a second SQLite file, since the database itself is opened by several threads.
 */
export function lockFile(path: string): FileLock {
  mkdirSync(dirname(path), { recursive: true })
  const lock = `${path}.lock`
  let guard: DatabaseSync | undefined
  try {
    guard = new DatabaseSync(lock, { timeout: 0 })
    guard.exec('BEGIN EXCLUSIVE')
  } catch (cause) {
    guard?.close()
    if (codeOf(cause) === SQLITE_BUSY) {
      throw new Error(`${path} is in use by another process; stop that one, or give this one another --store`, {
        cause,
      })
    }
    throw new Error(`${lock} cannot be taken (${messageOf(cause)}); it should be an empty file, or not be there`, {
      cause,
    })
  }
  const held = guard
  return { release: () => held.close() }
}

/** Opens the file, making it if there is none, and brings its schema up to date. What it refuses it leaves as it was. */
export function openDatabase(path: string): DatabaseSync {
  if (!existsSync(path)) createDatabase(path)
  checkFile(path)
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

/** A connection to a file that `openDatabase` has accepted. */
export function connect(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 5000 })
  try {
    // FULL: a commit returns when the disk has it, which is what makes an event durable before it is visible (LOG-2).
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY')
    return database
  } catch (cause) {
    database.close()
    throw cause
  }
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

/**
 * Before SQLite sees the file: it would take an empty one for a new database, notice a cut one only when a reader gets to the
 * missing part, and turn another program's over to our journal mode.
 */
function checkFile(path: string): void {
  const stats = statSync(path)
  if (!stats.isFile()) throw new Error(`${path} is not a file; give Holdfast a file of its own`)
  if (stats.size < HEADER_BYTES) throw damaged(path, `it has ${stats.size} bytes`)
  const header = Buffer.alloc(HEADER_BYTES)
  const file = openSync(path, 'r')
  readSync(file, header, 0, HEADER_BYTES, 0)
  closeSync(file)
  if (header.toString('latin1', 0, 15) !== 'SQLite format 3')
    throw new Error(`${path} is not a SQLite database; ${ADVICE}`)
  const pageBytes = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16)
  if (pageBytes < 512) throw damaged(path, 'its header makes no sense')
  checkLength(path, stats.size, pageBytes, header.readUInt32BE(28))
  checkVersion(header.readUInt32BE(68), header.readUInt32BE(60), path)
}

/** Each page must be in the file or in the journal. */
function checkLength(path: string, size: number, pageBytes: number, headerPages: number): void {
  const journal = readJournal(`${path}-wal`, pageBytes)
  const pages = journal.pages ?? headerPages
  for (let page = Math.floor(size / pageBytes) + 1; page <= pages; page++) {
    if (!journal.has.has(page)) throw damaged(path, `it has ${size} bytes of ${pages * pageBytes}`)
  }
}

const JOURNAL_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24

/** Which pages the committed part of a write-ahead log holds, and how many the database then has. */
function readJournal(path: string, pageBytes: number): { readonly has: ReadonlySet<number>; readonly pages?: number } {
  const has = new Set<number>()
  const journal = existsSync(path) ? readFileSync(path) : Buffer.alloc(0)
  if (journal.length < JOURNAL_HEADER_BYTES) return { has }
  const salt = journal.subarray(16, 24)
  let pages: number | undefined
  let uncommitted: number[] = []
  for (
    let at = JOURNAL_HEADER_BYTES;
    at + FRAME_HEADER_BYTES + pageBytes <= journal.length;
    at += FRAME_HEADER_BYTES + pageBytes
  ) {
    if (!journal.subarray(at + 8, at + 16).equals(salt)) break // left over from before the last checkpoint
    uncommitted.push(journal.readUInt32BE(at))
    const pagesAfter = journal.readUInt32BE(at + 4)
    if (pagesAfter === 0) continue
    pages = pagesAfter
    for (const page of uncommitted) has.add(page)
    uncommitted = []
  }
  return pages === undefined ? { has } : { has, pages }
}

const ADVICE = 'restore it from a backup, or move it away to start with an empty store'

function damaged(path: string, how: string, cause?: unknown): Error {
  return new Error(`${path} is damaged: ${how}; ${ADVICE}`, { cause })
}

/** What went wrong with a file; where it is the file, by its name and with what to do. */
export function damageOr(path: string, cause: unknown): unknown {
  const code = codeOf(cause)
  return code === SQLITE_CORRUPT || code === SQLITE_NOTADB ? damaged(path, messageOf(cause), cause) : cause
}

/** SQLite's primary result code. */
function codeOf(cause: unknown): number {
  return ((cause as { errcode?: number }).errcode ?? 0) & 0xff
}
