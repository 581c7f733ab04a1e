/** Runs the program as a user does: arguments, output, exit code. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export const root = join(import.meta.dirname, '../..')

export interface CommandLineOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Timeout for programs that should exit, also on a busy machine. */
const ENDS_MS = 60_000
const LISTENS_MS = 60_000
const OUTPUT_CHARS_MAX = 256 * 1024

/** Killed at the end of the test, if it lives that long. */
export class CommandLine {
  readonly #child: ChildProcess
  readonly #exited: Promise<number | null>
  #stdout = ''
  #stderr = ''

  constructor(args: readonly string[], { cwd, env = {} }: CommandLineOptions = {}) {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('HOLDFAST_'))
    this.#child = spawn(process.execPath, [join(root, 'src/cli/main.ts'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...Object.fromEntries(inherited),
        NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/holdfast-test-cli'),
        ...env,
      },
      ...(cwd !== undefined && { cwd }),
    })
    this.#child
      .stdout!.setEncoding('utf8')
      .on('data', (text: string) => (this.#stdout = (this.#stdout + text).slice(-OUTPUT_CHARS_MAX)))
    this.#child
      .stderr!.setEncoding('utf8')
      .on('data', (text: string) => (this.#stderr = (this.#stderr + text).slice(-OUTPUT_CHARS_MAX)))
    this.#exited = new Promise((resolve, reject) => {
      this.#child.once('error', reject)
      this.#child.once('close', resolve)
    })
    onTestFinished(async () => {
      this.#child.kill('SIGKILL')
      await this.#exited
    })
  }

  get stdout(): string {
    return this.#stdout
  }

  get stderr(): string {
    return this.#stderr
  }

  /** Where it listens, once it does. */
  async url(): Promise<string> {
    const found = (): string | undefined => /Holdfast listens at (\S+)\n/.exec(this.#stdout)?.[1]
    const received = new Promise<void>((resolve) => {
      this.#child.stdout!.on('data', () => found() !== undefined && resolve())
    })
    await Promise.race([found() === undefined ? received : undefined, this.#exited, timeOut(LISTENS_MS)])
    const url = found()
    if (url === undefined) throw new Error(`it does not listen:\n${this.#stdout}\n${this.#stderr}`)
    return url
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async ended(): Promise<Ended> {
    const code = await Promise.race([this.#exited, timeOut(ENDS_MS)])
    if (code === 'time is over') throw new Error(`it does not end:\n${this.#stdout}\n${this.#stderr}`)
    return { code, stdout: this.#stdout, stderr: this.#stderr }
  }
}

export function run(args: readonly string[], options: CommandLineOptions = {}): Promise<Ended> {
  return new CommandLine(args, options).ended()
}

function timeOut(milliseconds: number): Promise<'time is over'> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds, 'time is over' as const).unref())
}
