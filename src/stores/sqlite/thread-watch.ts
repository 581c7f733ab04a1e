/**
 * Watches over the committing thread. Every second it has the thread look whether the file is still this process's; and it
 * notices when the thread answers nothing, which is what a stalled disk looks like from here.
 */
import type { CommittingThread } from './committing-thread.ts'
import type { CommitFailure } from './messages.ts'

export interface WatchListener {
  /** The file was taken over, or is no longer in its place. */
  failed(failure: CommitFailure): void
  /** The thread has not answered for some seconds. It goes on by itself when it does. */
  stalled(reason: string): void
  /** The size of a journal that a reader of another program keeps from being checkpointed; 0 without one. */
  pinned(journalBytes: number): void
}

/** How long the disk may take for one write. */
const STALL_MS = 4000
/** A write that takes longer may be the beginning of a stall. */
const SLOW_MS = 250

export class ThreadWatch {
  readonly #thread: CommittingThread
  readonly #listener: WatchListener
  readonly #timer: NodeJS.Timeout
  /** Looks in a row at which the same answer may be missing. Counted, and not timed: a process that was suspended has no stall. */
  readonly #looksMax: number
  #answered = -1
  #looks = 0

  constructor(thread: CommittingThread, listener: WatchListener, everyMs: number) {
    this.#thread = thread
    this.#listener = listener
    this.#looksMax = Math.ceil(STALL_MS / everyMs)
    this.#timer = setInterval(() => this.#look(), everyMs)
    this.#timer.unref()
  }

  /** Why nothing can be written now; undefined while the thread answers. */
  get stall(): string | undefined {
    if (this.#looks < this.#looksMax || this.#answered !== this.#thread.answered) return undefined
    return `the disk has not finished a write for more than ${STALL_MS / 1000} s`
  }

  /** The disk is slow, and may be about to stall. */
  get isSlow(): boolean {
    return this.#thread.busyMs > SLOW_MS
  }

  /** Resolves when the disk has finished a write, or when it is known to stall. */
  async settled(): Promise<void> {
    if (this.stall === undefined && this.#thread.isWaiting) await this.#thread.nextAnswer()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#thread.wake()
  }

  #look(): void {
    const { answered, isWaiting } = this.#thread
    if (isWaiting && answered === this.#answered) {
      this.#looks++
      if (this.#looks !== this.#looksMax) return
      this.#listener.stalled(this.stall!)
      this.#thread.wake()
      return
    }
    this.#looks = isWaiting ? 1 : 0
    this.#answered = answered
    if (isWaiting) return // a commit looks by itself
    this.#thread.check((reply) => {
      if (reply.kind === 'failed') this.#listener.failed(reply)
      if (reply.kind === 'checked') this.#listener.pinned(reply.pinnedBytes)
    })
  }
}
