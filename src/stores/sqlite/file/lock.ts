/** File lock: one process per database file, whatever path it uses. */
import { lstatSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { detailOf } from '../../../core/model/errors.ts'
import { assertWritable, makeFile, makeFolder } from './file-access.ts'
import { isBusy } from './sqlite-errors.ts'

/** Held while a process uses a database file; the system releases it when the process dies. */
export interface FileLock {
  /** The file's real path. Only this path may be opened: SQLite derives the names of journal and index from it. */
  readonly path: string
  release(): void
}

/**
 * One process at a time: so the in-memory state is authoritative, and a lease found at opening belongs to a dead process. A
 * second SQLite file is locked, since several threads open the database itself.
 */
export function lockFile(path: string): FileLock {
  makeFolder(dirname(path))
  const real = realPathOf(path)
  assertWritable(real)
  const guard = lockGuard(`${real}.lock`, path)
  try {
    assertOneLink(real)
  } catch (cause) {
    guard.close()
    throw cause
  }
  return { path: real, release: () => guard.close() }
}

function lockGuard(lock: string, path: string): DatabaseSync {
  let guard: DatabaseSync | undefined
  try {
    makeFile(lock)
    guard = new DatabaseSync(lock, { timeout: 0 })
    guard.exec('BEGIN EXCLUSIVE')
    return guard
  } catch (cause) {
    guard?.close()
    if (isBusy(cause)) {
      const message = `${path} is in use by another process; stop that one, or give this one another --store`
      throw Object.assign(new Error(message, { cause }), { code: 'EBUSY' }) // a supervisor may retry: the other process may be about to end
    }
    throw new Error(`failed to lock ${lock}: ${detailOf(cause)}. Remove the file if no server uses the store`, {
      cause,
    })
  }
}

/** Resolves symbolic links, even if the file does not exist yet. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) {
      throw new Error(
        `${path} is a symbolic link to a file that does not exist; put the file back or remove the link`,
        { cause },
      )
    }
    return join(realpathSync(dirname(path)), basename(path))
  }
}

/** Each hard link would have its own lock and journal, so two servers would overwrite each other's pages. */
function assertOneLink(path: string): void {
  const links = statSync(path, { throwIfNoEntry: false })
  if (links === undefined || !links.isFile() || links.nlink === 1) return
  throw new Error(
    `${path} has ${links.nlink} hard links; a database must have one name: remove the others, or make a copy with holdfast backup`,
  )
}
