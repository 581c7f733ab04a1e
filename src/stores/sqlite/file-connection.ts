/** The store's hold on its file: its threads, whether it can be read and written, and how it is opened again after a failure. */
import { type HoldfastError, detailOf, storeUnavailable } from '../../core/model/errors.ts'
import type { Logger } from '../../core/ports/logger.ts'
import { CommittingThread } from './committing-thread.ts'
import type { FileIdentity } from './file-identity.ts'
import { type CommitListener, GroupCommit } from './group-commit.ts'
import { FencedError } from './instance.ts'
import type { FileLock } from './lock.ts'
import type { ThreadOptions } from './messages.ts'
import { PinnedJournal } from './pinned-journal.ts'
import { type Opening, Reader } from './reader.ts'
import { ReadingThread, type StandIn } from './reading-thread.ts'
import type { Readings } from './readings.ts'
import { ThreadWatch } from './thread-watch.ts'

export interface FileConnectionOptions {
  /** On the file; let go when the connection closes. */
  readonly lock: FileLock
  /** The first of the threads that commit to it. */
  readonly thread: Promise<CommittingThread>
  /** Wait between attempts to open the file again after it failed. */
  readonly reopenMs: number
  /** Bytes of the log that may wait for compaction, in memory, before starts are refused. */
  readonly backlogBytesMax: number
  /** Wait between looks at whether the file is still in its place. */
  readonly watchMs: number
  /** For the threads after the first. */
  readonly threadOptions: Omit<ThreadOptions, 'reopen'>
  readonly logger: Logger
}

export interface FileConnectionListener extends Omit<CommitListener, 'failed'> {
  /** The file was opened, perhaps anew: what was known of it holds no longer. */
  opened(thread: CommittingThread, opening: Opening): void
  /** What was accepted and is not durable is dropped. */
  failed(cause: HoldfastError): void
  /** The disk finishes nothing. */
  stalled(cause: HoldfastError): void
  /** The file takes writes again after it failed. */
  reopened(): void
}

const BACKLOG_RETRY_MS = 1000

export class FileConnection {
  readonly #options: FileConnectionOptions
  readonly #listener: FileConnectionListener
  readonly #pinned: PinnedJournal
  readonly #reads: ReadingThread
  #thread!: CommittingThread
  #commits!: GroupCommit
  #watch!: ThreadWatch
  #identity!: FileIdentity
  #failure: string | undefined
  /** The file belongs to another process by now, for good. */
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
    this.#reads = new ReadingThread(options.lock.path, standIn, options.watchMs, (reason) =>
      options.logger.error({ store: options.lock.path, reason }, 'the store cannot be read'),
    )
  }

  /** Once. */
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

  #open(thread: CommittingThread, opening: Opening): void {
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
      this.#options.watchMs,
    )
    this.#listener.opened(thread, opening)
  }

  /** Another one after the file was opened anew. */
  get commits(): GroupCommit {
    return this.#commits
  }

  /** Commits fail until the file is open again. */
  get isFailed(): boolean {
    return this.#failure !== undefined
  }

  /** Why the store is not healthy; undefined while it is. */
  get outage(): string | undefined {
    return this.#failure ?? this.#watch.stall ?? this.#reads.stall
  }

  /** What an operator should know although everything works. */
  get warning(): string | undefined {
    return this.#pinned.warning
  }

  /** Reads the file, in the reading thread. */
  async ask<Name extends keyof Readings>(
    name: Name,
    ...args: Parameters<Readings[Name]>
  ): Promise<ReturnType<Readings[Name]>> {
    this.assertReadable()
    const result = await this.#reads.ask(name, ...args)
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

  /** What runs write cannot be refused; that there are more of them can. */
  assertKeepsUp(): void {
    const bytes = this.#commits.backlogBytes
    if (bytes <= this.#options.backlogBytesMax) return
    throw storeUnavailable(`the store is behind: ${bytes} bytes of its log wait for compaction`, {
      retryAfterMs: BACKLOG_RETRY_MS,
    })
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
    return this.#unavailable(`the store takes no writes: ${reason}`)
  }

  #unavailable(message: string): HoldfastError {
    return storeUnavailable(message, { retryAfterMs: this.#options.reopenMs })
  }

  /** The disk completes nothing: new commands are refused, running ones wait. Recovers when the disk does. */
  #stall(reason: string): void {
    const { lock, logger } = this.#options
    logger.error({ store: lock.path, reason }, 'the store is stalled')
    const cause = this.#unwritable(reason)
    this.#listener.stalled(cause)
    this.#reads.standInStalled(reason)
    this.#commits.stall(cause)
  }

  /**
   * A commit failed. Accepted changes that are not durable are dropped and their waiters get the error. Nobody has seen them.
   * The file is then opened anew, as after a crash; until that works the store is unhealthy. It stays so when the file belongs
   * to another process: to open it again would take it from that one.
   */
  #fail({ message, fenced }: { readonly message: string; readonly fenced: boolean }): void {
    if (fenced) this.#fenced = true
    if (this.#failure === undefined || fenced) {
      this.#failure = message
      this.#watch.stop()
      this.#options.logger.error({ store: this.#options.lock.path, reason: message }, 'the store takes no writes')
      this.#listener.failed(this.#unwritable(message))
    }
    if (!this.#closed && !this.#fenced)
      this.#reopenTimer = setTimeout(() => void this.#reopen(), this.#options.reopenMs)
  }

  async #openingOf(thread: CommittingThread): Promise<Opening> {
    try {
      return await this.#reads.ask('opening')
    } catch (cause) {
      await thread.close()
      throw cause
    }
  }

  async #reopen(): Promise<void> {
    try {
      await this.#commits.abandon()
      const options = { ...this.#options.threadOptions, reopen: this.#identity }
      const thread = await CommittingThread.open(options, (message) => (this.#failure = message))
      this.#open(thread, await this.#openingOf(thread))
    } catch (cause) {
      return this.#fail({ message: detailOf(cause), fenced: cause instanceof FencedError })
    }
    this.#failure = undefined
    this.#options.logger.info({ store: this.#options.lock.path }, 'the store takes writes again')
    this.#listener.reopened()
  }
}

/** Reads in this thread: nothing can be asked of the store before, and much of the result stays here. */
function openingOf(path: string): Opening {
  const reader = new Reader(path)
  try {
    return reader.opening()
  } finally {
    reader.close()
  }
}
