/** The judge as a process: told of faults while its clients work, and asked for its verdict when they are over. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { ensurePython } from '../support/python.ts'

const root = join(import.meta.dirname, '../..')
const COMPLAINT_CHARS_MAX = 4000

export interface Verdict {
  readonly ok: boolean
  readonly runs: number
  readonly events: number
  readonly outcomes: Readonly<Record<string, number>>
  /** Runs that were interrupted or attempted again. */
  readonly lost: number
  /** The longest time between the end of the faults, or the start of a run, and the run's end. */
  readonly slowest_s: number
  readonly violations: Readonly<Record<string, number>>
  readonly examples: Readonly<Record<string, readonly string[]>>
}

export interface JudgeOptions {
  readonly urls: readonly string[]
  readonly history: string
  readonly clients: number
  readonly boundS: number
  readonly seed: number
  /** Half of the runs last for so many seconds; 0 for none. */
  readonly longS: number
  /** The judge is ended after this time. */
  readonly withinMs: number
}

export class Judge {
  readonly #child: ChildProcess
  readonly #verdict: Promise<Verdict>

  private constructor(child: ChildProcess) {
    this.#child = child
    let output = ''
    let complaints = ''
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      complaints = (complaints + text).slice(-COMPLAINT_CHARS_MAX)
    })
    child.stdin!.on('error', () => {}) // told by its end
    this.#verdict = new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code) => {
        if (code === 0 || (code === 1 && output.startsWith('{'))) resolve(JSON.parse(output) as Verdict)
        else reject(new Error(`the judge ended with ${code ?? 'no time left'}\n${complaints}`))
      })
    })
    this.#verdict.catch(() => {}) // told to whoever asks for it
  }

  static async start({ urls, history, clients, boundS, seed, longS, withinMs }: JudgeOptions): Promise<Judge> {
    const python = await ensurePython(join(root, 'judge/requirements.txt'))
    const numbers = { clients, bound: boundS, seed, long: longS, seconds: Math.ceil(withinMs / 1000) }
    const flags = Object.entries(numbers).flatMap(([name, value]) => [`--${name}`, String(value)])
    const nodes = urls.flatMap((url) => ['--url', url])
    const child = spawn(python, ['-m', 'judge', '--commands', '--json', '--history', history, ...nodes, ...flags], {
      cwd: root,
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: withinMs,
      killSignal: 'SIGKILL',
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
    })
    return new Judge(child)
  }

  /** An outage ends no worker and is shorter than nodes bear: the judge lets no run be interrupted or attempted again because of it. */
  tell(command: `fault ${string}` | `outage ${string}` | 'healed'): void {
    this.#child.stdin!.write(`${command}\n`)
  }

  /** No more runs are started; resolves when those that were have been judged. */
  finish(): Promise<Verdict> {
    this.#child.stdin!.write('finish\n')
    return this.#verdict
  }

  async abandon(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#verdict.catch(() => {})
  }
}
