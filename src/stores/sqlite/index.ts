/** The embedded store: one SQLite file, durable before visible, for one process. */
import { type Clock, systemClock } from '../../core/clock.ts'
import type { Store } from '../../core/store.ts'
import { SqliteStore } from './store.ts'

export interface OpenSqliteOptions {
  /** The database file; made, with its folder, where there is none. */
  readonly path: string
  readonly clock?: Clock
  /** Wait between attempts to open the file again after writing failed. */
  readonly reopenMs?: number
}

export function openSqliteStore(options: OpenSqliteOptions): Promise<Store> {
  return SqliteStore.open({
    path: options.path,
    clock: options.clock ?? systemClock,
    reopenMs: options.reopenMs ?? 1000,
  })
}
