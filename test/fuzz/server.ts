/** The parent's side of a fuzzed server: starts it, measures it, and starts it again when something has killed it. */
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withTimeout } from './timeout.ts'
import type { Measured, Ready, ToProgram } from './messages.ts'

const program = join(import.meta.dirname, 'program.ts')
const START_MS_MAX = 90_000
const ANSWER_MS_MAX = 60_000
const OUTPUT_CHARS_MAX = 4000

/** The server ended by itself. */
export class Crash extends Error {
  override readonly name = 'Crash'
}

export class FuzzedServer {
  readonly #folder = mkdtempSync(join(tmpdir(), 'holdfast-fuzz-'))
  #child: ChildProcess | undefined
  #starting: Promise<Ready> | undefined
  #stderr = ''

  /** Its address and components; starts it if it does not run. */
  ready(): Promise<Ready> {
    if (this.#starting !== undefined && this.#isAlive()) return this.#starting
    this.#starting = this.#start()
    return this.#starting
  }

  /** Measurements and logs of the server during `work`. Throws a `Crash` if it did not survive. */
  async measured(work: (ready: Ready) => Promise<void>): Promise<Measured> {
    const ready = await this.ready()
    this.#send('begin')
    await work(ready)
    this.#send('end')
    return this.#next<Measured>('measure', ANSWER_MS_MAX)
  }

  async stop(): Promise<void> {
    const child = this.#child
    if (child !== undefined && this.#isAlive()) {
      const exited = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await exited
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #start(): Promise<Ready> {
    this.#stderr = ''
    const child = fork(program, [join(this.#folder, 'runs.db')], {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    child.on('error', () => {}) // `exit` follows
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-OUTPUT_CHARS_MAX)
    })
    this.#child = child
    return this.#next<Ready>('start', START_MS_MAX)
  }

  #isAlive(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null
  }

  #send(message: ToProgram): void {
    if (this.#isAlive() && this.#child!.connected) this.#child!.send(message, () => {})
  }

  async #next<Message>(what: string, withinMs: number): Promise<Message> {
    const child = this.#child!
    const { promise, resolve, reject } = Promise.withResolvers<Message>()
    const onMessage = (message: unknown): void => resolve(message as Message)
    const onExit = (): void =>
      reject(new Crash(`the server ended (${child.exitCode ?? child.signalCode})\n${this.#stderr}`))
    child.once('message', onMessage).once('exit', onExit)
    if (!this.#isAlive()) onExit()
    try {
      return await withTimeout(promise, withinMs, `the server did not ${what}`)
    } catch (cause) {
      child.kill('SIGKILL') // one that hangs is of no more use
      throw cause
    } finally {
      child.off('message', onMessage).off('exit', onExit)
    }
  }
}
