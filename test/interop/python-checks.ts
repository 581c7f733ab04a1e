/** Checks that are written in Python and run beside this process: each says its result in a line of JSON. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Tally } from './agno/tally.ts'

export interface PythonChecks {
  readonly python: string
  /** Where the package `checks` is. */
  readonly folder: string
  readonly args: readonly string[]
  /** All of them together. */
  readonly withinMs: number
  /** Put before each title. */
  readonly name: string
  readonly tally: Tally
  /** What the checks may want to be done, by name; they are told when it is done. */
  readonly deeds: Readonly<Record<string, () => Promise<void>>>
}

interface Said {
  readonly title?: string
  readonly passed?: boolean
  readonly problem?: string
  readonly wants?: string
}

const COMPLAINT_CHARS_MAX = 4000

export async function runPythonChecks(checks: PythonChecks): Promise<void> {
  const { python, folder, args, withinMs, name, tally, deeds } = checks
  const child = spawn(python, ['-m', 'checks', ...args], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: withinMs,
    killSignal: 'SIGKILL',
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
  })
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints = (complaints + text).slice(-COMPLAINT_CHARS_MAX)
  })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('{')) continue // what a library logs
    const said = JSON.parse(line) as Said
    if (said.wants === undefined) {
      tally.add(`${name}: ${said.title}`, said.passed === true ? undefined : said.problem)
      continue
    }
    await deeds[said.wants]!()
    child.stdin.write('done\n')
  }
  const code = await ended
  if (code !== 0) tally.add(`${name}: all checks are run`, `they ended with ${code ?? 'no time left'}\n${complaints}`)
}
