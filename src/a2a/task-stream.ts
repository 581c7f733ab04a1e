/** What comes of a message or a task: to be iterated over once, and the task so far at any time. */
import type { TaskFollower } from './follow.ts'
import type { SendResult, Task, Update } from './types.ts'

export class TaskStream implements AsyncIterable<Update> {
  readonly #following: TaskFollower
  readonly #updates: AsyncGenerator<Update, SendResult, void>
  #result: SendResult | undefined

  constructor(following: TaskFollower) {
    this.#following = following
    this.#updates = following.updates()
  }

  /** As it is known so far. */
  get task(): Task | undefined {
    return this.#following.assembly.task
  }

  /** Of the last event, to be given to `subscribe` by another client; undefined where the agent gives none. */
  get position(): string | undefined {
    return this.#following.assembly.cursor
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Update, void, void> {
    try {
      for (;;) {
        const { done, value } = await this.#updates.next()
        if (done === true) {
          this.#result = value ?? this.#result
          return
        }
        yield value
      }
    } finally {
      await this.#updates.return(undefined as never)
    }
  }

  /** The task where it ended or waits, or the message that is the answer; follows to there what was not iterated over. */
  async result(): Promise<SendResult> {
    const rest = this[Symbol.asyncIterator]()
    while ((await rest.next()).done !== true);
    if (this.#result === undefined) throw new Error('the stream was left before its end')
    return this.#result
  }
}
