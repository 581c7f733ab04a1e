/** A server as a process of its own, which can be killed and started again at the same address. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')
const LISTEN_MS = 60_000
const OUTPUT_CHARS_MAX = 4000

/** The program must print `listens at <url>`, and then `It is process <id>`. */
export class Served {
  readonly url: string
  readonly #command: readonly string[]
  #child: ChildProcess | undefined
  #pid = 0

  /** `path`: mount point. */
  constructor(port: number, command: readonly string[], path = '') {
    this.url = `http://127.0.0.1:${port}${path}`
    this.#command = command
  }

  /** Process id of the server itself, not of its launcher. */
  get pid(): number {
    return this.#pid
  }

  /** Resolves when it listens. */
  async start(): Promise<void> {
    const [program, ...args] = this.#command
    // A group of its own: npm, its shell and the server are killed together.
    const child = spawn(program!, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    this.#child = child
    this.#pid = await listening(child)
  }

  /** Kills it at once, without notice to clients. */
  async kill(): Promise<void> {
    const child = this.#child
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child.once('close', resolve))
    process.kill(-child.pid, 'SIGKILL')
    await gone
  }

  async restart(): Promise<void> {
    await this.kill()
    await this.start()
  }
}

/** `npm start`, with the lab. */
export function npmStart(port: number, store: string, ...more: string[]): Served {
  return new Served(port, ['npm', 'start', '--silent', '--', '--lab', ...placed(port, store), ...more])
}

/** The components of a module. */
export function serving(file: string, port: number, store: string): Served {
  return new Served(port, ['node', join(root, 'src/cli/main.ts'), 'serve', file, ...placed(port, store)])
}

function placed(port: number, store: string): string[] {
  return ['--port', String(port), '--store', `sqlite:${store}`]
}

function listening(child: ChildProcess): Promise<number> {
  let output = ''
  return new Promise((resolve, reject) => {
    const fail = (): void => reject(new Error(`the server did not start:\n${output}`))
    const timer = setTimeout(fail, LISTEN_MS)
    child.once('error', reject)
    child.once('exit', () => {
      clearTimeout(timer)
      fail()
    })
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-OUTPUT_CHARS_MAX)
        const [, pid] = /listens at[^]*It is process (\d+)/.exec(output) ?? []
        if (pid === undefined) return
        clearTimeout(timer)
        resolve(Number(pid))
      })
    }
  })
}
