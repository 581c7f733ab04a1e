/** A child process that is held to its bounds: it is read as fast as it is wanted, and it ends, on request or by force. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { linesOf } from './lines.ts'

export interface ChildOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly lineBytesMax: number
  /** Between the polite signal and the one that cannot be ignored. */
  readonly graceMs: number
  readonly stderr: (line: string) => void
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Longest line of stderr that is passed on whole. */
const STDERR_CHARS_MAX = 8192

export class Child {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #graceMs: number
  readonly #lines: AsyncGenerator<string, void, void>
  #killed = false
  /** Its exit; rejects when it could not be started. */
  readonly exit: Promise<Exit>

  constructor({ command, args, cwd, env, lineBytesMax, graceMs, stderr }: ChildOptions) {
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
    this.exit.catch(() => {}) // told to whoever awaits it
    // A child that is gone takes nothing; its exit says what there is to say.
    this.#child.stdin.on('error', () => {})
    this.#lines = linesOf(this.#child.stdout, lineBytesMax)
    passOn(this.#child.stderr, stderr)
  }

  /** It was ended by us. */
  get killed(): boolean {
    return this.#killed
  }

  /** The next line of its output; undefined at the end. It is not read ahead by more than a pipe holds. */
  async next(): Promise<string | undefined> {
    const { done, value } = await this.#lines.next()
    return done === true ? undefined : value
  }

  async write(message: object): Promise<void> {
    if (this.#child.stdin.destroyed || this.#child.stdin.writableEnded) return
    if (this.#child.stdin.write(`${JSON.stringify(message)}\n`)) return
    // One that does not read its input either ends or is ended.
    await Promise.race([once(this.#child.stdin, 'drain'), this.exit]).catch(() => {})
  }

  /** Lets it end by itself, within the grace; what it still says is not read. */
  async finish(): Promise<Exit> {
    this.#child.stdin.end()
    this.#child.stdout.resume()
    const timer = setTimeout(() => void this.kill(), this.#graceMs)
    return this.exit.finally(() => clearTimeout(timer))
  }

  /** Ends it: with SIGTERM, and with SIGKILL when it is still there after the grace. */
  async kill(): Promise<void> {
    this.#child.stdin.end()
    this.#child.stdout.destroy()
    if (this.#child.exitCode !== null || this.#child.signalCode !== null || this.#child.pid === undefined) return
    this.#killed = true
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), this.#graceMs)
    await this.exit.catch(() => {}) // a child that never started is gone as well
    clearTimeout(timer)
  }
}

/** By lines, of which a long one is cut. Stderr is always read: a child must not hang on a full pipe. */
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
