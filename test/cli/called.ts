/** Runs a command in this process, with an output that is not a terminal. */
import { runCommand } from '../../src/cli/run-command.ts'

export interface Called {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export type Caller = (...argv: string[]) => Promise<Called>

export function callWith(env: Readonly<Record<string, string>>): Caller {
  return async (...argv) => {
    let [stdout, stderr] = ['', '']
    const code = await runCommand(argv, {
      stdout: { write: (text: string) => (stdout += text) },
      stderr: { write: (text: string) => (stderr += text) },
      env,
    })
    return { code, stdout, stderr }
  }
}

/** A port on which nothing listens: 1 is reserved. */
export const NOBODY = { HOLDFAST_PORT: '1' }
