/** The embedded store: one SQLite file, durable before visible, for one process. */
import { type Clock, systemClock } from '../../core/clock.ts'
import type { Store } from '../../core/store.ts'
import { CommittingThread } from './committing-thread.ts'
import { lockFile } from './file.ts'

export interface OpenSqliteOptions {
  /** The database file; made, with its folder, where there is none. */
  readonly path: string
  readonly clock?: Clock
  /** Wait between attempts to open the file again after writing failed. */
  readonly reopenMs?: number
}

export async function openSqliteStore(options: OpenSqliteOptions): Promise<Store> {
  const lock = lockFile(options.path)
  // First, so that the thread starts while this one loads the rest of the store.
  const thread = CommittingThread.open(options.path)
  thread.catch(() => {}) // the store awaits it, and tells
  const { SqliteStore } = await import('./store.ts')
  return SqliteStore.open({
    path: options.path,
    lock,
    thread,
    clock: options.clock ?? systemClock,
    reopenMs: options.reopenMs ?? 1000,
  })
}
