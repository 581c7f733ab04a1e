/** Whether a thread still answers: one that does not is at work on something that the disk does not finish. */

export interface Answering {
  /** How many times it has answered. */
  readonly answered: number
  /** Something that was asked is not answered yet. */
  readonly isWaiting: boolean
}

/** How long the disk may take for one write, or one read. */
const STALL_MS = 4000

/** Counted in looks, and not timed: a process that was suspended has no stall. */
export class AnswerWatch {
  readonly #thread: Answering
  readonly #what: 'read' | 'write'
  /** Looks in a row at which the same answer may be missing. */
  readonly #looksMax: number
  #answered = -1
  #looks = 0

  constructor(thread: Answering, what: 'read' | 'write', everyMs: number) {
    this.#thread = thread
    this.#what = what
    this.#looksMax = Math.ceil(STALL_MS / everyMs)
  }

  /** What is wrong; undefined while the thread answers. */
  get stall(): string | undefined {
    if (this.#looks < this.#looksMax || this.#answered !== this.#thread.answered) return undefined
    return `the disk has not finished a ${this.#what} for more than ${STALL_MS / 1000} s`
  }

  /** Call it at regular intervals. Returns what is wrong, once, when that turns out. */
  look(): string | undefined {
    const { answered, isWaiting } = this.#thread
    if (isWaiting && answered === this.#answered) return ++this.#looks === this.#looksMax ? this.stall : undefined
    this.#looks = isWaiting ? 1 : 0
    this.#answered = answered
    return undefined
  }
}
