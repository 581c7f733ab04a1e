/** What a crash leaves of a SQLite file, taken while the file is in use. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/**
 * Copies a database and its write-ahead log as they are at this moment, which is what the next process would find after
 * `kill -9`. A read transaction keeps a checkpoint from changing the database between the two copies. Another process
 * copies: closing the file here would drop the locks that SQLite holds on it.
 */
export function crashedCopy(path: string, copy: string): void {
  using pin = new DatabaseSync(path, { readOnly: true })
  pin.exec('BEGIN; SELECT count(*) FROM sqlite_schema')
  execFileSync('cp', [path, copy])
  if (existsSync(`${path}-wal`)) execFileSync('cp', [`${path}-wal`, `${copy}-wal`])
  pin.exec('COMMIT')
}
