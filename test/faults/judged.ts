/** Runs the judge as a process: reports faults to it while its clients run, and gets its verdict at the end. */
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
  /** Runs that were interrupted or retried. */
  readonly lost: number
  /** Longest time from the end of the faults, or a run's start, to its end. */
  readonly slowest_s: number
  readonly slowest_recovery_s: number
  readonly violations: Readonly<Record<string, number>>
  readonly examples: Readonly<Record<string, readonly string[]>>
}

export interface JudgeOptions {
  readonly urls: readonly string[]
  readonly history: string
  readonly clients: number
  readonly boundS: number
  readonly seed: number
  /** Duration of half of the runs, in seconds; 0 for none. */
  readonly longS: number
  /** Timeout of the judge. */
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
    child.stdin!.on('error', () => {}) // reported when the process exits
    this.#verdict = new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code) => {
        if (code === 0 || (code === 1 && output.startsWith('{'))) resolve(JSON.parse(output) as Verdict)
        else reject(new Error(`the judge ended with ${code ?? 'no time left'}\n${complaints}`))
      })
    })
    this.#verdict.catch(() => {}) // `finish` reports it
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

  /** `outage`: shorter than nodes tolerate and without dead workers, so the judge allows no interrupted or retried runs. */
  tell(command: `fault ${string}` | `outage ${string}` | 'healed'): void {
    this.#child.stdin!.write(`${command}\n`)
  }

  /** Stops starting runs; resolves when all have been judged. */
  finish(): Promise<Verdict> {
    this.#child.stdin!.write('finish\n')
    return this.#verdict
  }

  async abandon(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#verdict.catch(() => {})
  }
}
