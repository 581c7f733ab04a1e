/** Full WAL checkpoint, which requires that no reader has an older snapshot open. */
import type { DatabaseSync } from 'node:sqlite'
import { HoldfastError } from '../../../core/model/errors.ts'
import { BUSY_TIMEOUT_MS } from '../file/database-file.ts'

/** Duration of one attempt. */
const ATTEMPT_MS = 1000
/** Attempts between two messages. */
const ATTEMPTS_TOLD = 10

/** Waits for readers of other programs, such as a backup, and reports it. */
export function checkpointAll(
  database: DatabaseSync,
  path: string,
  waitMs: number,
  onWaiting: (message: string) => void,
): void {
  const reason = `another program is reading ${path} (a backup, an open SQLite shell)`
  const checkpoint = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)')
  const attempts = Math.max(1, Math.ceil(waitMs / ATTEMPT_MS))
  database.exec(`PRAGMA busy_timeout = ${ATTEMPT_MS}`)
  for (let attempt = 0; Number(checkpoint.get()?.['busy']) !== 0; attempt++) {
    if (attempt >= attempts) throw new HoldfastError('unavailable', `${reason}; start again when it has finished`)
    if (attempt % ATTEMPTS_TOLD === 0) onWaiting(`${reason}: waiting until it has finished`)
  }
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
}
