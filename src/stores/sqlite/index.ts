/** The embedded store: one SQLite file, durable before visible, for one process. */
import { randomUUID } from 'node:crypto'
import { type Clock, systemClock } from '../../core/ports/clock.ts'
import { type Logger, silentLogger } from '../../core/ports/logger.ts'
import type { Store } from '../../core/ports/store.ts'
import { CommittingThread } from './committing-thread.ts'
import { modeWarnings } from './file-access.ts'
import { lockFile } from './lock.ts'

const JOURNAL_BYTES_MAX = 256 * 1024 * 1024
const READER_WAIT_MS = 300_000

export interface OpenSqliteOptions {
  /** The database file; made, with its folder, where there is none. */
  readonly path: string
  readonly clock?: Clock
  /** Told what an operator should know about the file. */
  readonly logger?: Logger
  /** Wait between attempts to open the file again after writing failed. */
  readonly reopenMs?: number
  /** Bytes of the log that may wait for compaction before starts are refused. Default: 64 MiB. */
  readonly backlogBytesMax?: number
  /** Wait between looks at whether the file is still in its place, and this process's. */
  readonly watchMs?: number
  /** Size of the write-ahead log from which a reader of another program that holds it up is warned of. */
  readonly journalBytesMax?: number
  /** How long opening waits while another program reads the file. */
  readonly readerWaitMs?: number
}

export async function openSqliteStore(options: OpenSqliteOptions): Promise<Store> {
  const { logger = silentLogger, journalBytesMax = JOURNAL_BYTES_MAX, readerWaitMs = READER_WAIT_MS } = options
  const lock = lockFile(options.path)
  const threadOptions = { path: lock.path, token: randomUUID(), journalBytesMax, readerWaitMs }
  // First, so that the thread starts while this one loads the rest of the store.
  const thread = CommittingThread.open({ ...threadOptions, reopen: undefined }, (message) =>
    logger.warn({ store: lock.path }, message),
  )
  thread.catch(() => {}) // the store awaits it, and tells
  const { SqliteStore } = await import('./store.ts')
  const store = await SqliteStore.open({
    lock,
    thread,
    clock: options.clock ?? systemClock,
    reopenMs: options.reopenMs ?? 1000,
    backlogBytesMax: options.backlogBytesMax ?? 64 * 1024 * 1024,
    onDamage: (what) => logger.error({ store: lock.path }, what),
    watchMs: options.watchMs ?? 1000,
    threadOptions,
    logger,
  })
  for (const warning of modeWarnings(lock.path)) logger.warn({ store: lock.path }, warning)
  return store
}
