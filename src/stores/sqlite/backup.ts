/** Copies of a whole database: taken while a server uses it, put back while none does. A copy is verified before it counts. */
import { closeSync, existsSync, fsyncSync, openSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { commitRecordOf } from './commit-record.ts'
import { makeFile, makeFolder } from './file-access.ts'
import { connect, openDatabase, restoreDraftOf } from './file.ts'
import { type FileLock, lockFile } from './lock.ts'
import { schemaVersionOf } from './schema.ts'
import { damaged, damageOr } from './sqlite-errors.ts'

export interface CopyReport {
  readonly runs: number
  readonly bytes: number
}

/** Told while a copy is made: which part of its pages are done, and then that it is being verified. */
export type CopyProgress = (done: { readonly copied: number } | 'verifying') => void

/** Pages between two reports: some sixteen megabytes. */
const STEP_PAGES = 4096

/** Writes a copy of the database as it is now; whoever uses it goes on. `to` must not exist. */
export async function backUp(from: string, to: string, progress: CopyProgress): Promise<CopyReport> {
  if (!existsSync(from)) throw new Error(`there is no store ${from}`)
  if (existsSync(to)) throw new Error(`${to} exists; give the backup another name, or move that file away`)
  makeFolder(dirname(to))
  const draft = `${to}.partial`
  const report = await copyDatabase(realpathSync(from), draft, progress)
  renameSync(draft, to)
  syncFolder(to)
  return report
}

export interface RestoreReport extends CopyReport {
  /** What the store was before, where there was one. */
  readonly replaced?: string
}

/** Puts a copy of `from` in place of a store that nobody uses. The store that was there is kept beside it. */
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

/** Makes a file as small as what it holds, and one that gives space back by itself from then on. Nobody may be using it. */
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

/** What it leaves in the place of the draft is whole, or nothing. */
function compactInto(path: string, draft: string, progress: CopyProgress): CopyReport {
  removeDatabase(draft)
  try {
    using database = openDatabase(path)
    makeFile(draft)
    database.prepare('VACUUM INTO ?').run(draft)
    return verify(draft, progress)
  } catch (cause) {
    removeDatabase(draft)
    throw damageOr(path, cause)
  }
}

/** Copies one state of the database, whatever is written to it meanwhile. What it leaves is whole, or nothing. */
async function copyDatabase(from: string, draft: string, progress: CopyProgress): Promise<CopyReport> {
  removeDatabase(draft)
  const source = openSource(from)
  try {
    // With a transaction open, every step copies from the same state; without, a commit in between would start it over.
    source.exec('BEGIN')
    schemaVersionOf(source, from) // or it is refused
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

/** Looks at every page of a copy, takes the instance token out of it, and makes it durable. */
function verify(draft: string, progress: CopyProgress): CopyReport {
  progress('verifying')
  let runs: number
  {
    using database = connect(draft)
    const [found] = database.prepare('PRAGMA integrity_check(1)').all()
    if (found?.['integrity_check'] !== 'ok') throw damaged(draft, String(found?.['integrity_check']))
    // A copy belongs to no process.
    if (hasInstances(database)) database.exec('DELETE FROM instance')
    runs = Number(database.prepare('SELECT count(*) AS runs FROM runs').get()!['runs'])
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  }
  sync(draft, 'r+')
  return { runs, bytes: statSync(draft).size }
}

function hasInstances(database: DatabaseSync): boolean {
  return database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'instance'").get() !== undefined
}

/**
 * Swaps the files; true if there was one before. A crash in between leaves the store without a file under its name and with a
 * draft beside it: opening refuses that, rather than to begin with an empty store.
 */
function putInPlace({ path }: FileLock, draft: string, replaced: string): boolean {
  const wasThere = existsSync(path)
  if (wasThere) renameSync(path, replaced)
  // A journal belongs to the file that it was written for: beside another one it would be applied to that.
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
