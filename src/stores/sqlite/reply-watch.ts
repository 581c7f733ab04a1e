/** Detects a thread that stopped replying because the disk does not finish an operation. */

export interface ReplyingThread {
  /** Number of replies so far. */
  readonly replies: number
  /** A request is pending. */
  readonly isWaiting: boolean
}

/** Maximum time for one disk write or read. */
const STALL_MS = 4000

/** Counts checks instead of time: suspending the process is not a stall. */
export class ReplyWatch {
  readonly #thread: ReplyingThread
  readonly #what: 'read' | 'write'
  /** Consecutive checks without a new reply. */
  readonly #maxChecks: number
  #replies = -1
  #checks = 0

  constructor(thread: ReplyingThread, what: 'read' | 'write', everyMs: number) {
    this.#thread = thread
    this.#what = what
    this.#maxChecks = Math.ceil(STALL_MS / everyMs)
  }

  /** The reason; undefined while the thread replies. */
  get stall(): string | undefined {
    if (this.#checks < this.#maxChecks || this.#replies !== this.#thread.replies) return undefined
    return `the disk has not finished a ${this.#what} for more than ${STALL_MS / 1000} s`
  }

  /** Call at regular intervals. Returns the reason once, when a stall is detected. */
  check(): string | undefined {
    const { replies, isWaiting } = this.#thread
    if (isWaiting && replies === this.#replies) return ++this.#checks === this.#maxChecks ? this.stall : undefined
    this.#checks = isWaiting ? 1 : 0
    this.#replies = replies
    return undefined
  }
}
