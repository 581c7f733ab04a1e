/** Embedded store: one SQLite file for one process; durable before visible. */
import { randomUUID } from 'node:crypto'
import { type Clock, systemClock } from '../../core/ports/clock.ts'
import { type Logger, silentLogger } from '../../core/ports/logger.ts'
import type { Store } from '../../core/ports/store.ts'
import { CommittingThreadHandle } from './committing/committing-thread-handle.ts'
import { modeWarnings } from './file/file-access.ts'
import { lockFile } from './file/lock.ts'

const JOURNAL_BYTES_MAX = 256 * 1024 * 1024
const READER_TIMEOUT_MS = 300_000

/** Options of `openSqliteStore`. */
export interface OpenSqliteOptions {
  /** The database file; created, with its folder, if missing. */
  readonly path: string
  /** For tests. Default: the system clock. */
  readonly clock?: Clock
  /** Receives reports for operators about the file. Default: silent. */
  readonly logger?: Logger
  /** Delay between attempts to reopen the file after a write failure. Default: 1,000. */
  readonly reopenIntervalMs?: number
  /** Uncompacted log bytes above which starts are refused. Default: 64 MiB. */
  readonly maxBacklogBytes?: number
  /** Interval of the checks that the file still exists and belongs to this process. Default: 1,000. */
  readonly watchIntervalMs?: number
  /** Warns above this size of a write-ahead log that another program's reader keeps from being checkpointed. Default: 256 MiB. */
  readonly walWarningBytes?: number
  /** How long opening waits while another program reads the file. Default: 300,000. */
  readonly readerTimeoutMs?: number
}

/**
 * Opens a SQLite file as a store. Only one process may have it open.
 *
 * @example
 * ```ts
 * const store = await openSqliteStore({ path: 'data/holdfast.db' })
 * ```
 */
export async function openSqliteStore(options: OpenSqliteOptions): Promise<Store> {
  const { logger = silentLogger, walWarningBytes = JOURNAL_BYTES_MAX, readerTimeoutMs = READER_TIMEOUT_MS } = options
  const lock = lockFile(options.path)
  const threadOptions = { path: lock.path, token: randomUUID(), walWarningBytes, readerTimeoutMs }
  // First, so that the thread starts while this one loads the rest of the store.
  const thread = CommittingThreadHandle.open({ ...threadOptions, reopen: undefined }, (message) =>
    logger.warn({ store: lock.path }, message),
  )
  thread.catch(() => {}) // the store awaits and reports it
  const { SqliteStore } = await import('./store.ts')
  const store = await SqliteStore.open({
    lock,
    thread,
    clock: options.clock ?? systemClock,
    reopenIntervalMs: options.reopenIntervalMs ?? 1000,
    maxBacklogBytes: options.maxBacklogBytes,
    onDamage: (what) => logger.error({ store: lock.path }, what),
    watchIntervalMs: options.watchIntervalMs ?? 1000,
    threadOptions,
    logger,
  })
  for (const warning of modeWarnings(lock.path)) logger.warn({ store: lock.path }, warning)
  return store
}
