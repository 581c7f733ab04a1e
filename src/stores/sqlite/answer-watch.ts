/** Detects a thread that stopped replying because the disk does not finish an operation. */

export interface Answering {
  /** Number of replies so far. */
  readonly answered: number
  /** A request is pending. */
  readonly isWaiting: boolean
}

/** Maximum time for one disk write or read. */
const STALL_MS = 4000

/** Counts checks instead of time: suspending the process is not a stall. */
export class AnswerWatch {
  readonly #thread: Answering
  readonly #what: 'read' | 'write'
  /** Consecutive checks without a new reply. */
  readonly #looksMax: number
  #answered = -1
  #looks = 0

  constructor(thread: Answering, what: 'read' | 'write', everyMs: number) {
    this.#thread = thread
    this.#what = what
    this.#looksMax = Math.ceil(STALL_MS / everyMs)
  }

  /** The reason; undefined while the thread replies. */
  get stall(): string | undefined {
    if (this.#looks < this.#looksMax || this.#answered !== this.#thread.answered) return undefined
    return `the disk has not finished a ${this.#what} for more than ${STALL_MS / 1000} s`
  }

  /** Call at regular intervals. Returns the reason once, when a stall is detected. */
  look(): string | undefined {
    const { answered, isWaiting } = this.#thread
    if (isWaiting && answered === this.#answered) return ++this.#looks === this.#looksMax ? this.stall : undefined
    this.#looks = isWaiting ? 1 : 0
    this.#answered = answered
    return undefined
  }
}
