/** A node process that can die and restart on the same port. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'

const LISTEN_MS = 120_000
const OUTPUT_CHARS_MAX = 256 * 1024
const program = join(import.meta.dirname, 'node.ts')
const compileCache = join(import.meta.dirname, '../../node_modules/.cache/holdfast-test-servers')

export interface NodeOptions {
  readonly store: string
  readonly port: number
  readonly leaseMs: number
}

export class NodeProcess {
  readonly url: string
  readonly #options: NodeOptions
  #child: ChildProcess | undefined
  #output = ''

  constructor(options: NodeOptions) {
    this.#options = options
    this.url = `http://127.0.0.1:${options.port}`
  }

  /** End of its log output, across restarts. */
  get output(): string {
    return this.#output
  }

  /** Resolves when it listens. `env` extends this process's environment. */
  async start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    const { store, port, leaseMs } = this.#options
    const child = spawn(process.execPath, [program, store, String(port), String(leaseMs)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache, ...env },
    })
    this.#child = child
    child.stderr.setEncoding('utf8').on('data', (text: string) => this.#keep(text))
    await new Promise<void>((resolve, reject) => {
      const fail = (why: string): void => reject(new Error(`the node ${why}\n${this.#output.slice(-4000)}`))
      const timer = setTimeout(() => fail(`did not listen within ${LISTEN_MS} ms`), LISTEN_MS)
      child.once('exit', (code, signal) => {
        clearTimeout(timer)
        this.#keep(`-- ended: ${code ?? signal}\n`)
        fail(`ended (${code ?? signal}) before it listened`)
      })
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        if (!text.includes('Holdfast listens at')) return
        clearTimeout(timer)
        resolve()
      })
    })
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await exited
  }

  /** SIGSTOP and SIGCONT. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(signal)
  }

  #keep(text: string): void {
    this.#output = (this.#output + text).slice(-OUTPUT_CHARS_MAX)
  }
}
