/** Stream of a message or task: can be iterated once, with the current task at any time. */
import type { TaskFollower } from './follow.ts'
import type { SendResult, Task, TaskUpdate } from './types.ts'

/** The updates of a task, with the current task at any time. Can be iterated once; reconnects by itself. */
export class TaskStream implements AsyncIterable<TaskUpdate> {
  readonly #following: TaskFollower
  readonly #updates: AsyncGenerator<TaskUpdate, SendResult, void>
  #result: SendResult | undefined

  constructor(following: TaskFollower) {
    this.#following = following
    this.#updates = following.updates()
  }

  /** The task, as far as it is known. */
  get task(): Task | undefined {
    return this.#following.assembly.task
  }

  /** Position of the last event, which another client can pass to `subscribe`; undefined if the agent supports none. */
  get position(): string | undefined {
    return this.#following.assembly.cursor
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TaskUpdate, void, void> {
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

  /** The task when it has ended or waits, or the reply message. Consumes the rest of the stream. */
  async result(): Promise<SendResult> {
    const rest = this[Symbol.asyncIterator]()
    while ((await rest.next()).done !== true);
    if (this.#result === undefined)
      throw new Error('the iteration was left before the stream ended, so there is no result')
    return this.#result
  }
}
