/** Bounded child process: read with backpressure, and ended by request or by force. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { linesOf } from './lines.ts'
import { textOf } from './text.ts'

export interface ChildOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly maxLineBytes: number
  /** Delay between SIGTERM and SIGKILL. */
  readonly graceMs: number
  readonly stderr: (line: string) => void
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Longer stderr lines are cut. */
const STDERR_CHARS_MAX = 8192

export class Child {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #graceMs: number
  readonly #lines: AsyncGenerator<string, void, void>
  #killed = false
  /** Rejects if the process could not be started. */
  readonly exit: Promise<Exit>

  constructor({ command, args, cwd, env, maxLineBytes, graceMs, stderr }: ChildOptions) {
    this.#child = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env,
      ...(cwd !== undefined && { cwd }),
    })
    this.#graceMs = graceMs
    this.exit = new Promise((resolve, reject) => {
      this.#child.once('error', reject)
      this.#child.once('exit', (code, signal) => resolve({ code, signal }))
    })
    this.exit.catch(() => {}) // reported by the caller that awaits it
    // Writing to a dead child fails; its exit status reports that.
    this.#child.stdin.on('error', () => {})
    this.#lines = linesOf(this.#child.stdout, maxLineBytes)
    passOn(this.#child.stderr, stderr)
  }

  /** Whether Holdfast ended it. */
  get killed(): boolean {
    return this.#killed
  }

  /** The next line of output; undefined at the end. Reads ahead no further than the pipe buffer. */
  async next(): Promise<string | undefined> {
    const { done, value } = await this.#lines.next()
    return done === true ? undefined : value
  }

  /** All output as text, in pieces as they are printed. Use instead of `next`. */
  text(): AsyncGenerator<string, void, void> {
    return textOf(this.#child.stdout)
  }

  async write(message: object): Promise<void> {
    await this.#send(`${JSON.stringify(message)}\n`)
  }

  /** Sends the last of its input. */
  async end(text: string): Promise<void> {
    await this.#send(text)
    this.#child.stdin.end()
  }

  async #send(text: string): Promise<void> {
    if (this.#child.stdin.destroyed || this.#child.stdin.writableEnded) return
    if (this.#child.stdin.write(text)) return
    // A child that does not read its input either exits or is killed.
    await Promise.race([once(this.#child.stdin, 'drain'), this.exit]).catch(() => {})
  }

  /** Lets it exit by itself within the grace period; further output is ignored. */
  async finish(): Promise<Exit> {
    this.#child.stdin.end()
    this.#child.stdout.resume()
    const timer = setTimeout(() => void this.kill(), this.#graceMs)
    return this.exit.finally(() => clearTimeout(timer))
  }

  /** Sends SIGTERM, and SIGKILL after the grace period. */
  async kill(): Promise<void> {
    this.#child.stdin.end()
    this.#child.stdout.destroy()
    if (this.#child.exitCode !== null || this.#child.signalCode !== null || this.#child.pid === undefined) return
    this.#killed = true
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), this.#graceMs)
    await this.exit.catch(() => {}) // a child that never started has ended as well
    clearTimeout(timer)
  }
}

/** Forwards lines, cutting long ones. Stderr is always drained: a child must not block on a full pipe. */
function passOn(source: Readable, listener: (line: string) => void): void {
  let rest = ''
  source.setEncoding('utf8')
  source.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    if (rest.length > STDERR_CHARS_MAX) {
      lines.push(rest.slice(0, STDERR_CHARS_MAX))
      rest = ''
    }
    for (const line of lines) if (line !== '') listener(line.slice(0, STDERR_CHARS_MAX))
  })
  source.on('end', () => {
    if (rest !== '') listener(rest)
  })
  source.on('error', () => {})
}
