/**
 * Watches over the committing thread. Every second it has the thread look whether the file is still this process's; and it
 * notices when the thread answers nothing, which is what a stalled disk looks like from here.
 */
import { AnswerWatch } from './answer-watch.ts'
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

export class ThreadWatch {
  readonly #thread: CommittingThread
  readonly #listener: WatchListener
  readonly #timer: NodeJS.Timeout
  readonly #answers: AnswerWatch

  constructor(thread: CommittingThread, listener: WatchListener, everyMs: number) {
    this.#thread = thread
    this.#listener = listener
    this.#answers = new AnswerWatch(thread, 'write', everyMs)
    this.#timer = setInterval(() => this.#look(), everyMs)
    this.#timer.unref()
  }

  /** Why nothing can be written now; undefined while the thread answers. */
  get stall(): string | undefined {
    return this.#answers.stall
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    const { isWaiting } = this.#thread
    const stall = this.#answers.look()
    if (stall !== undefined) this.#listener.stalled(stall)
    if (isWaiting) return // a commit looks by itself
    this.#thread.check((reply) => {
      if (reply.kind === 'failed') this.#listener.failed(reply)
      if (reply.kind === 'checked') this.#listener.pinned(reply.pinnedBytes)
    })
  }
}
