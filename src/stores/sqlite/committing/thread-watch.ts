/**
 * Watches the committing thread. Every second the thread checks that the file still belongs to this process; a missing reply
 * means a stalled disk.
 */
import { ReplyWatch } from '../reply-watch.ts'
import type { CommittingThreadHandle } from './committing-thread-handle.ts'
import type { CommitFailure } from './committing-messages.ts'

export interface WatchListener {
  /** The file was taken over or is no longer in place. */
  failed(failure: CommitFailure): void
  /** The thread has not replied for some seconds. It recovers by itself. */
  stalled(reason: string): void
  /** Size of a journal that another program's reader keeps from being checkpointed; 0: none. */
  pinned(journalBytes: number): void
}

export class ThreadWatch {
  readonly #thread: CommittingThreadHandle
  readonly #listener: WatchListener
  readonly #timer: NodeJS.Timeout
  readonly #answers: ReplyWatch

  constructor(thread: CommittingThreadHandle, listener: WatchListener, everyMs: number) {
    this.#thread = thread
    this.#listener = listener
    this.#answers = new ReplyWatch(thread, 'write', everyMs)
    this.#timer = setInterval(() => this.#check(), everyMs)
    this.#timer.unref()
  }

  /** Why writes fail now; undefined while the thread replies. */
  get stall(): string | undefined {
    return this.#answers.stall
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #check(): void {
    const { isWaiting } = this.#thread
    const stall = this.#answers.check()
    if (stall !== undefined) this.#listener.stalled(stall)
    if (isWaiting) return // a commit performs the check itself
    this.#thread.check((reply) => {
      if (reply.kind === 'failed') this.#listener.failed(reply)
      if (reply.kind === 'checked') this.#listener.pinned(reply.pinnedBytes)
    })
  }
}
