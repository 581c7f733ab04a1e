/** File permissions of a store: owner only. */
import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { detailOf } from '../../../core/model/errors.ts'

const FILE_MODE = 0o600
const FOLDER_MODE = 0o700

/** Creates a folder and its parents. One by one: recursive `mkdirSync` hangs on paths such as /proc. */
export function makeFolder(folder: string): void {
  const missing: string[] = []
  for (let at = resolve(folder); !existsSync(at); at = dirname(at)) missing.push(at)
  for (const each of missing.toReversed()) {
    try {
      mkdirSync(each, FOLDER_MODE)
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'EEXIST') continue
      throw new Error(`the directory ${each} cannot be created (${detailOf(cause)}); choose another --store`, {
        cause,
      })
    }
  }
  if (!statSync(folder).isDirectory()) throw new Error(`${folder} is not a directory; choose another --store`)
}

/** Throws if the store's files cannot be created or changed, with a permission error instead of SQLite's. */
export function assertWritable(path: string): void {
  const folder = dirname(path)
  for (const each of existsSync(path) ? [folder, path] : [folder]) {
    try {
      accessSync(each, constants.W_OK)
    } catch (cause) {
      const why =
        (cause as NodeJS.ErrnoException).code === 'EROFS' ? 'its file system is read-only' : 'permission denied'
      throw new Error(`${each} is not writable: ${why}; change its permissions or choose another --store`, { cause })
    }
  }
}

/** Creates an empty file if it is missing; true if it did. Never opens an existing one. */
export function makeFile(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx', FILE_MODE))
    return true
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw cause
  }
}

/** Warns about excessive permissions of other users; empty on systems without such modes. */
export function modeWarnings(path: string): string[] {
  if (process.platform === 'win32') return []
  const folder = dirname(path)
  const warnings: string[] = []
  const mode = statSync(path).mode & 0o777
  if ((mode & 0o077) !== 0)
    warnings.push(`${path} has mode ${octal(mode)}: other users can read all runs; chmod 600 ${path}`)
  const folderMode = statSync(folder).mode & 0o1777
  // In a sticky directory, such as /tmp, nobody can replace a file of somebody else, and others need it as it is.
  const isSticky = (folderMode & 0o1000) !== 0
  const can = (folderMode & 0o022) !== 0 && !isSticky ? 'replace the database' : 'see its files and their sizes'
  const todo = isSticky ? 'move the database to a directory of its own' : `chmod 700 ${folder}`
  if ((folderMode & 0o077) !== 0)
    warnings.push(`${folder} has mode ${octal(folderMode)}: other users can ${can}; ${todo}`)
  return warnings
}

function octal(mode: number): string {
  return `0${mode.toString(8)}`
}
