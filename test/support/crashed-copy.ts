/** Copies a SQLite file in use, as a crash would leave it. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/**
 * Copies a database and its write-ahead log in the state that the next process would find after `kill -9`. A read transaction prevents
 * a checkpoint between the two copies. A child process copies, because closing the file here would drop SQLite's locks.
 */
export function crashedCopy(path: string, copy: string): void {
  using pin = new DatabaseSync(path, { readOnly: true })
  pin.exec('BEGIN; SELECT count(*) FROM sqlite_schema')
  execFileSync('cp', [path, copy])
  if (existsSync(`${path}-wal`)) execFileSync('cp', [`${path}-wal`, `${copy}-wal`])
  pin.exec('COMMIT')
}
