/** A process of an abuse run, and the messages that it sends. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const MESSAGE_MS_MAX = 90_000

export class Child {
  readonly #process: ChildProcess

  constructor(program: string, args: readonly string[] = []) {
    this.#process = fork(join(import.meta.dirname, program), args, { execArgv: [] })
  }

  /** Sends the message, if any, and waits for the next one. */
  async next<Message>(sent?: object | string): Promise<Message> {
    const { signal, timer } = deadline()
    const exited = once(this.#process, 'exit', { signal }).then(() => {
      throw new Error(`the process ended (${this.#process.exitCode ?? this.#process.signalCode})`)
    })
    const received = once(this.#process, 'message', { signal }) as Promise<[Message]>
    if (sent !== undefined) this.#process.send(sent)
    try {
      const [message] = await Promise.race([received, exited])
      return message
    } finally {
      clearTimeout(timer.handle)
      timer.abort()
      await Promise.allSettled([received, exited])
    }
  }

  tell(message: object | string): void {
    this.#process.send(message)
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    const exited = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await exited
  }
}

function deadline() {
  const controller = new AbortController()
  const handle = setTimeout(() => controller.abort(new Error('the process said nothing in time')), MESSAGE_MS_MAX)
  return { signal: controller.signal, timer: { handle, abort: () => controller.abort() } }
}
