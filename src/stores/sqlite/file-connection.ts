/** Owns the store's threads, tracks whether the file can be read and written, and reopens it after a failure. */
import { type HoldfastError, detailOf, storeUnavailable } from '../../core/model/errors.ts'
import type { Logger } from '../../core/ports/logger.ts'
import { assertBacklogBelow } from './backlog.ts'
import { CommittingThreadHandle } from './committing/committing-thread-handle.ts'
import type { FileIdentity } from './file/file-identity.ts'
import { type CommitListener, GroupCommit } from './committing/group-commit.ts'
import { FencedError } from './file/instance.ts'
import type { FileLock } from './file/lock.ts'
import type { ThreadOptions } from './committing/committing-messages.ts'
import { PinnedJournal } from './file/pinned-journal.ts'
import { type OpenResult, Reader } from './reading/reader.ts'
import { ReadingThreadHandle, type StandIn } from './reading/reading-thread-handle.ts'
import type { Readings } from './reading/readings.ts'
import { ThreadWatch } from './committing/thread-watch.ts'

export interface FileConnectionOptions {
  /** Lock on the file, released by `close`. */
  readonly lock: FileLock
  /** The first committing thread. A reopened file gets a new one. */
  readonly thread: Promise<CommittingThreadHandle>
  /** Delay between attempts to reopen the file after a failure. */
  readonly reopenIntervalMs: number
  /** Uncompacted log bytes in memory above which starts are refused. */
  readonly maxBacklogBytes: number | undefined
  /** Interval of the checks that the file is in place and that the threads reply. */
  readonly watchIntervalMs: number
  /** Options of the committing threads after the first. */
  readonly threadOptions: Omit<ThreadOptions, 'reopen'>
  readonly logger: Logger
}

export interface FileConnectionListener extends Omit<CommitListener, 'failed'> {
  /** Called when the file was opened or reopened. The listener must replace everything it knows of the file. */
  opened(thread: CommittingThreadHandle, opening: OpenResult): void
  /** Called when a commit failed. The listener must drop changes that are not durable. */
  failed(cause: HoldfastError): void
  /** Called when the disk stalls: writes do not finish. */
  stalled(cause: HoldfastError): void
  /** Called when the file was reopened and accepts writes again. */
  reopened(): void
}

export class FileConnection {
  readonly #options: FileConnectionOptions
  readonly #listener: FileConnectionListener
  readonly #pinned: PinnedJournal
  readonly #reads: ReadingThreadHandle
  #thread!: CommittingThreadHandle
  #commits!: GroupCommit
  #watch!: ThreadWatch
  #identity!: FileIdentity
  #failure: string | undefined
  /** Another process has taken over the file. Final. */
  #fenced = false
  #reopenTimer: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: FileConnectionOptions, listener: FileConnectionListener) {
    this.#options = options
    this.#listener = listener
    this.#pinned = new PinnedJournal(options.lock.path, options.logger)
    const standIn: StandIn = {
      read: (requests, answer) => this.#thread.read(requests, answer),
      stall: () => this.#watch.stall,
    }
    this.#reads = new ReadingThreadHandle(options.lock.path, standIn, options.watchIntervalMs, (reason) =>
      options.logger.error({ store: options.lock.path, reason }, 'the store cannot be read'),
    )
  }

  /** Opens the file. Call once. */
  async open(): Promise<void> {
    try {
      const thread = await this.#options.thread
      this.#open(thread, openingOf(this.#options.lock.path))
    } catch (cause) {
      await this.#reads.close()
      this.#options.lock.release()
      throw cause
    }
  }

  #open(thread: CommittingThreadHandle, opening: OpenResult): void {
    const commits = new GroupCommit(thread, {
      ...this.#listener,
      failed: ({ message, because }) => this.#fail({ message, fenced: because === 'fenced' }),
    })
    this.#thread = thread
    this.#commits = commits
    this.#identity = thread.identity
    this.#watch = new ThreadWatch(
      thread,
      {
        failed: (failure) => commits.fail(failure),
        stalled: (reason) => this.#stall(reason),
        pinned: (bytes) => this.#pinned.update(bytes),
      },
      this.#options.watchIntervalMs,
    )
    this.#listener.opened(thread, opening)
  }

  /** Replaced when the file is reopened. */
  get commits(): GroupCommit {
    return this.#commits
  }

  /** Commits fail until the file is reopened. */
  get isFailed(): boolean {
    return this.#failure !== undefined
  }

  /** Why the store is unhealthy; undefined if it is healthy. */
  get outage(): string | undefined {
    return this.#failure ?? this.#watch.stall ?? this.#reads.stall
  }

  /** A condition that needs an operator's attention although everything works. */
  get warning(): string | undefined {
    return this.#pinned.warning
  }

  /** Reads the file, in another thread. */
  async request<Name extends keyof Readings>(
    name: Name,
    ...args: Parameters<Readings[Name]>
  ): Promise<ReturnType<Readings[Name]>> {
    this.assertReadable()
    const result = await this.#reads.request(name, ...args)
    this.assertReadable()
    return result
  }

  assertReadable(): void {
    if (this.#closed) throw this.#unavailable('the store is closed')
    // Memory is stale: another process executes these runs.
    if (this.#fenced) throw this.#unavailable(`the store is not read: ${this.#failure}`)
  }

  assertHealthy(): void {
    const reason = this.#closed ? 'it is closed' : (this.#failure ?? this.#watch.stall)
    if (reason !== undefined) throw this.#unwritable(reason)
  }

  /** Refuses new runs while compaction is behind. */
  assertBacklogBelow(): void {
    assertBacklogBelow(this.#commits.backlogBytes, this.#options.maxBacklogBytes)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#reopenTimer)
    this.#watch.stop()
    await this.#commits.close()
    await this.#reads.close()
    this.#options.lock.release()
  }

  #unwritable(reason: string): HoldfastError {
    return this.#unavailable(`writes to the store fail: ${reason}`)
  }

  #unavailable(message: string): HoldfastError {
    return storeUnavailable(message, { retryAfterMs: this.#options.reopenIntervalMs })
  }

  /** Refuses new commands while the disk stalls; pending commits stay queued. Ends when the disk recovers. */
  #stall(reason: string): void {
    const { lock, logger } = this.#options
    logger.error({ store: lock.path, reason }, 'the store is stalled')
    const cause = this.#unwritable(reason)
    this.#listener.stalled(cause)
    this.#reads.standInStalled(reason)
    this.#commits.stall(cause)
  }

  /**
   * Handles a failed commit: drops changes that are not durable, which nobody has seen, and rejects their waiters. The store is
   * unhealthy until the file is reopened, as after a crash. A fenced store never reopens it: that would fence the new owner.
   */
  #fail({ message, fenced }: { readonly message: string; readonly fenced: boolean }): void {
    if (fenced) this.#fenced = true
    if (this.#failure === undefined || fenced) {
      this.#failure = message
      this.#watch.stop()
      const { lock, logger, reopenIntervalMs } = this.#options
      const next = fenced
        ? 'not reopened, because another process owns the file'
        : `reopening every ${reopenIntervalMs} ms`
      logger.error({ store: lock.path, reason: message }, `failed to write to the store; ${next}`)
      this.#listener.failed(this.#unwritable(message))
    }
    if (!this.#closed && !this.#fenced)
      this.#reopenTimer = setTimeout(() => void this.#reopen(), this.#options.reopenIntervalMs)
  }

  async #openingOf(thread: CommittingThreadHandle): Promise<OpenResult> {
    try {
      return await this.#reads.request('opening')
    } catch (cause) {
      await thread.close()
      throw cause
    }
  }

  async #reopen(): Promise<void> {
    try {
      await this.#commits.abandon()
      const options = { ...this.#options.threadOptions, reopen: this.#identity }
      const thread = await CommittingThreadHandle.open(options, (message) => (this.#failure = message))
      this.#open(thread, await this.#openingOf(thread))
    } catch (cause) {
      return this.#fail({ message: detailOf(cause), fenced: cause instanceof FencedError })
    }
    this.#failure = undefined
    this.#options.logger.info({ store: this.#options.lock.path }, 'writes to the store work again')
    this.#listener.reopened()
  }
}

/** Reads in this thread: no request can arrive before the store is open, and most of the result stays here. */
function openingOf(path: string): OpenResult {
  const reader = new Reader(path)
  try {
    return reader.opening()
  } finally {
    reader.close()
  }
}
