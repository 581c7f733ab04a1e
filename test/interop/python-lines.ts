/** A Python program that prints lines of JSON and can receive replies. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export interface PythonProgram {
  readonly python: string
  readonly args: readonly string[]
  readonly folder: string
  readonly withinMs: number
}

const COMPLAINT_CHARS_MAX = 4000

/** Resolves with the problem, or undefined. The result of `output` is written to the program. */
export async function runPython(
  { python, args, folder, withinMs }: PythonProgram,
  output: (line: unknown) => Promise<string | undefined> | string | undefined,
): Promise<string | undefined> {
  const child = spawn(python, args, {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: withinMs,
    killSignal: 'SIGKILL',
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1', AGNO_TELEMETRY: 'false' },
  })
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints = (complaints + text).slice(-COMPLAINT_CHARS_MAX)
  })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  for await (const text of createInterface({ input: child.stdout })) {
    if (!text.startsWith('{')) continue // what a library logs
    const answer = await output(JSON.parse(text))
    if (answer !== undefined) child.stdin.write(`${answer}\n`)
  }
  const code = await ended
  return code === 0 ? undefined : `it ended with ${code ?? 'no time left'}\n${complaints}`
}
