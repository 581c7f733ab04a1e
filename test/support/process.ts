/** A server process that a test can kill. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export interface ServerProcessOptions {
  /** Path of the database. */
  readonly store: string
  /** Default: the demo with the lab. */
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Wraps the command line, for example in strace; must exec and keep the process id. */
  readonly wrap?: (line: readonly string[]) => readonly string[]
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

const root = join(import.meta.dirname, '../..')
/** Compile cache, shared by all starts. */
const compileCache = join(root, 'node_modules/.cache/holdfast-test-servers')
const LISTEN_MS = 90_000
const OUTPUT_CHARS_MAX = 512 * 1024

/** Starts a server and waits until it listens. */
export async function startServer(options: ServerProcessOptions): Promise<ServerProcess> {
  const server = new ServerProcess(options)
  await server.listening
  return server
}

/** Killed after the test. */
export class ServerProcess {
  /** Resolves with the address; rejects if the process exits first. */
  readonly listening: Promise<string>
  readonly exited: Promise<Exit>
  readonly #child: ChildProcess
  #url: string | undefined
  #stdout = ''
  #stderr = ''

  constructor(options: ServerProcessOptions) {
    const { store, command = ['demo', '--lab'], args = [], env = {}, wrap = (line) => line } = options
    const main = join(root, 'src/cli/main.ts')
    const [program, ...rest] = wrap([
      process.execPath,
      main,
      ...command,
      '--port',
      '0',
      '--store',
      `sqlite:${store}`,
      ...args,
    ])
    this.#child = spawn(program!, rest, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache, ...env },
    })
    this.exited = new Promise((resolve, reject) => {
      this.#child.once('error', reject)
      this.#child.once('exit', (code, signal) => resolve({ code, signal }))
    })
    this.listening = this.#awaitAddress()
    this.listening.catch(() => {}) // awaiting it still rejects
    onTestFinished(() => this.kill())
  }

  get pid(): number {
    return this.#child.pid!
  }

  get url(): string {
    if (this.#url === undefined) throw new Error('the server does not listen yet')
    return this.#url
  }

  /** The end of its log. */
  get stderr(): string {
    return this.#stderr
  }

  /** SIGKILL: like a power failure, except for the operating system's buffers. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.exited
  }

  /** SIGTERM: drains and exits. */
  async terminate(): Promise<Exit> {
    this.#child.kill('SIGTERM')
    return this.exited
  }

  #awaitAddress(): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const timer = setTimeout(
      () => reject(new Error(`the server did not listen within ${LISTEN_MS} ms\n${this.#stderr}`)),
      LISTEN_MS,
    )
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      if (this.#url !== undefined) return
      this.#stdout += text
      this.#url = /Holdfast listens at (\S+)\n/.exec(this.#stdout)?.[1]
      if (this.#url !== undefined) resolve(this.#url)
    })
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-OUTPUT_CHARS_MAX)
    })
    void this.exited.then(
      ({ code, signal }) =>
        reject(new Error(`the server ended (${code ?? signal}) before it listened\n${this.#stderr}`)),
      reject,
    )
    return promise.finally(() => clearTimeout(timer))
  }
}
