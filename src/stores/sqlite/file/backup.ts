/**
 * Backup, restore and vacuum of a whole database: backup while a server uses it, restore while none does. Every copy is
 * verified.
 */
import { closeSync, existsSync, fsyncSync, openSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { commitRecordOf } from './commit-record.ts'
import { makeFile, makeFolder } from './file-access.ts'
import { connect, openDatabase, restoreDraftOf } from './database-file.ts'
import { type Examination, examineContents } from './examine.ts'
import { type FileLock, lockFile } from './lock.ts'
import { finishDeletions } from '../committing/segment-deletion.ts'
import { allowVacuum } from '../committing/vacuum.ts'
import { SCHEMA_VERSION, schemaVersionOf } from '../tables/schema.ts'
import { damagedFileError, damageOr } from './sqlite-errors.ts'

export interface CopyReport {
  readonly runs: number
  readonly bytes: number
  /** Damage of single runs and documents, which the copy has too. All others are intact. */
  readonly damage: Pick<Examination, 'problems' | 'problemCount'>
}

/** Progress of a copy: the fraction of pages done, then that it is being verified. */
export type CopyProgress = (done: { readonly copied: number } | 'verifying') => void

/** Pages between two reports: about 16 MB. */
const STEP_PAGES = 4096

/** Writes a consistent copy while the store is in use. `to` must not exist. */
export async function backUp(from: string, to: string, progress: CopyProgress): Promise<CopyReport> {
  if (!existsSync(from)) throw new Error(`there is no store ${from}`)
  if (existsSync(to)) throw new Error(`${to} already exists: choose another name or move the file`)
  makeFolder(dirname(to))
  const draft = `${to}.partial`
  const report = await copyDatabase(realpathSync(from), draft, progress)
  renameSync(draft, to)
  syncFolder(to)
  return report
}

export interface RestoreReport extends CopyReport {
  /** Path of the previous store, if there was one. */
  readonly replaced?: string
}

/** Replaces a store that is not in use with a copy of `from`. The previous store is kept beside it. */
export async function restore(from: string, path: string, progress: CopyProgress): Promise<RestoreReport> {
  if (!existsSync(from)) throw new Error(`there is no backup ${from}`)
  const lock = lockFile(path)
  try {
    if (realpathSync(from) === lock.path) throw new Error(`${from} is the store itself`)
    const draft = restoreDraftOf(lock.path)
    const report = await copyDatabase(realpathSync(from), draft, progress)
    const replaced = `${lock.path}.replaced-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
    return putInPlace(lock, draft, replaced) ? { ...report, replaced } : report
  } finally {
    lock.release()
  }
}

/** Shrinks a file to its content and enables incremental vacuum. The store must not be in use. */
export function vacuum(path: string, progress: CopyProgress): CopyReport {
  if (!existsSync(path)) throw new Error(`there is no store ${path}`)
  const lock = lockFile(path)
  try {
    const draft = restoreDraftOf(lock.path)
    const report = compactInto(lock.path, draft, progress)
    const replaced = `${lock.path}.replaced`
    putInPlace(lock, draft, replaced)
    removeDatabase(replaced)
    return report
  } finally {
    lock.release()
  }
}

/** Leaves a complete draft, or none. */
function compactInto(path: string, draft: string, progress: CopyProgress): CopyReport {
  removeDatabase(draft)
  try {
    using database = openDatabase(path)
    finishDeletions(database)
    makeFile(draft)
    database.prepare('VACUUM INTO ?').run(draft)
    return verify(draft, progress)
  } catch (cause) {
    removeDatabase(draft)
    throw damageOr(path, cause)
  }
}

/** Copies one snapshot of the database, even while it is written to. Leaves a complete draft, or none. */
async function copyDatabase(from: string, draft: string, progress: CopyProgress): Promise<CopyReport> {
  removeDatabase(draft)
  const source = openSource(from)
  try {
    // An open transaction makes every step copy the same snapshot; without it, a commit in between would restart the copy.
    source.exec('BEGIN')
    schemaVersionOf(source, from) // throws for a foreign or newer file
    makeFile(draft)
    await backup(source, draft, {
      rate: STEP_PAGES,
      progress: ({ totalPages, remainingPages }) => progress({ copied: 1 - remainingPages / Math.max(1, totalPages) }),
    })
    return verify(draft, progress)
  } catch (cause) {
    removeDatabase(draft)
    throw damageOr(from, cause)
  } finally {
    source.close()
  }
}

/** Read-only, so that a backup on a write-protected medium can be restored. */
function openSource(path: string): DatabaseSync {
  if (!statSync(path).isFile()) throw new Error(`${path} is not a file`)
  return new DatabaseSync(pathToFileURL(path), { readOnly: true, timeout: 5000 })
}

/** Checks every page and checksum of a copy, removes the instance token, and syncs it. */
function verify(draft: string, progress: CopyProgress): CopyReport {
  progress('verifying')
  let runs: number
  let damage: CopyReport['damage'] = { problems: [], problemCount: 0 }
  {
    using database = connect(draft)
    const [found] = database.prepare('PRAGMA integrity_check(1)').all()
    if (found?.['integrity_check'] !== 'ok') throw damagedFileError(draft, String(found?.['integrity_check']))
    // Older schemas have no checksums.
    if (schemaVersionOf(database, draft) === SCHEMA_VERSION) {
      allowVacuum(database)
      finishDeletions(database)
      damage = examineContents(database, draft)
    }
    // A copy belongs to no process.
    if (hasInstances(database)) database.exec('DELETE FROM instance')
    runs = Number(database.prepare('SELECT count(*) AS runs FROM runs').get()!['runs'])
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  }
  sync(draft, 'r+')
  return { runs, bytes: statSync(draft).size, damage }
}

function hasInstances(database: DatabaseSync): boolean {
  return database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'instance'").get() !== undefined
}

/**
 * Swaps the files; true if there was one before. A crash in between leaves no file under the store's name and a draft beside
 * it. Opening refuses that instead of starting with an empty store.
 */
function putInPlace({ path }: FileLock, draft: string, replaced: string): boolean {
  const wasThere = existsSync(path)
  if (wasThere) renameSync(path, replaced)
  // A journal belongs to its file: beside another file it would be applied to that one.
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${replaced}-wal`)
  rmSync(`${path}-shm`, { force: true })
  const record = commitRecordOf(path)
  if (existsSync(record)) renameSync(record, commitRecordOf(replaced))
  renameSync(draft, path)
  syncFolder(path)
  return wasThere
}

function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true })
  rmSync(commitRecordOf(path), { force: true })
}

function syncFolder(path: string): void {
  sync(dirname(resolve(path)), 'r')
}

function sync(path: string, flags: 'r' | 'r+'): void {
  const file = openSync(path, flags)
  fsyncSync(file)
  closeSync(file)
}
