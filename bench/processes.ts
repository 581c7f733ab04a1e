/** Child processes of the bench, one request at a time each, all terminated at the end. */
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import type { ClientCommand, Delivered, Load, Reply, Resume, ServerCommand, Usage } from './messages.ts'

const ANSWER_MS_MAX = 120_000

export class Processes {
  readonly #open = new Set<ChildProcess>()
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Starts a file of the folder; resolves with its first message. */
  async start<First>(
    file: string,
    parameters: readonly string[],
    nodeFlags: readonly string[] = [],
  ): Promise<[Channel, First]> {
    const child = fork(join(this.#folder, file), parameters, {
      execArgv: [...nodeFlags],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.#open.add(child)
    child.once('exit', () => this.#open.delete(child))
    const channel = new Channel(child, file)
    return [channel, await channel.next<First>()]
  }

  endAll(): void {
    for (const child of this.#open) child.kill('SIGKILL')
  }
}

export class Channel {
  readonly #child: ChildProcess
  readonly #name: string

  constructor(child: ChildProcess, name: string) {
    this.#child = child
    this.#name = name
  }

  ask<Answer>(question: object): Promise<Answer> {
    const answer = this.next<Answer>()
    this.#child.send(question)
    return answer
  }

  next<Answer>(): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const settle = (end: () => void): void => {
        clearTimeout(timer)
        this.#child.off('message', onMessage).off('exit', onExit)
        end()
      }
      const onMessage = (reply: Reply<Answer>): void =>
        settle(() => ('error' in reply ? reject(new Error(`${this.#name}: ${reply.error}`)) : resolve(reply.value)))
      const onExit = (code: number | null): void => settle(() => reject(new Error(`${this.#name} ended with ${code}`)))
      const timer = setTimeout(() => settle(() => reject(new Error(`${this.#name} does not respond`))), ANSWER_MS_MAX)
      this.#child.on('message', onMessage).on('exit', onExit)
    })
  }

  /** Closes the channel, which ends the process. */
  end(): void {
    if (this.#child.connected) this.#child.disconnect()
  }

  exited(): Promise<void> {
    return new Promise((resolve) =>
      this.#child.exitCode === null ? this.#child.once('exit', () => resolve()) : resolve(),
    )
  }
}

export class ServerProcess {
  readonly port: number
  readonly #channel: Channel

  constructor(channel: Channel, port: number) {
    this.#channel = channel
    this.port = port
  }

  usage(): Promise<Usage> {
    return this.#ask({ kind: 'usage' })
  }

  go(runs: number): Promise<void> {
    return this.#ask({ kind: 'go', runs })
  }

  collectGarbage(): Promise<void> {
    return this.#ask({ kind: 'collect garbage' })
  }

  async stop(): Promise<void> {
    const exited = this.#channel.exited()
    await this.#ask({ kind: 'stop' })
    await exited
  }

  #ask<Answer>(command: ServerCommand): Promise<Answer> {
    return this.#channel.ask(command)
  }
}

export class ClientProcess {
  readonly #channel: Channel

  constructor(channel: Channel) {
    this.#channel = channel
  }

  /** Subscribers connect to `followPort` if set. */
  open(port: number, load: Load, followPort?: number): Promise<readonly string[]> {
    return this.#ask({ kind: 'open', port, load, ...(followPort !== undefined && { followPort }) })
  }

  finish(timeoutMs: number): Promise<Delivered> {
    return this.#ask({ kind: 'finish', timeoutMs })
  }

  catchUp(port: number, run: string, events: number): Promise<number> {
    return this.#ask({ kind: 'catch up', port, run, events })
  }

  resume(port: number, resume: Resume): Promise<void> {
    return this.#ask({ kind: 'resume', port, resume })
  }

  close(): Promise<void> {
    return this.#ask({ kind: 'close' })
  }

  #ask<Answer>(command: ClientCommand): Promise<Answer> {
    return this.#channel.ask(command)
  }
}
