/** Exit codes. */
import type { RunStatus } from '../core/model/run.ts'

interface ExitCode {
  readonly code: number
  /** For docs/cli.md. */
  readonly meaning: string
}

export const exitTable = {
  done: { code: 0, meaning: 'Success. A run that was followed has completed.' },
  failed: { code: 1, meaning: 'Failure: no server, a damaged file, a refused request.' },
  misused: { code: 2, meaning: 'Usage error. Nothing was done.' },
  runFailed: { code: 3, meaning: 'The run failed.' },
  runCancelled: { code: 4, meaning: 'The run was stopped.' },
  runRejected: { code: 5, meaning: 'The component rejected the run.' },
  runPaused: { code: 6, meaning: 'The run is paused and waits for an answer, and the output is not a terminal.' },
  unavailable: {
    code: 75,
    meaning: 'The store is temporarily unavailable, for example while another program locks its file. Try again later.',
  },
  unread: { code: 141, meaning: 'The reader of the output closed it, as head does. The run continues.' },
  detached: { code: 130, meaning: 'Detached with Ctrl-C. The run continues.' },
} as const satisfies Readonly<Record<string, ExitCode>>

export const DONE: number = exitTable.done.code
export const FAILED: number = exitTable.failed.code
export const UNAVAILABLE: number = exitTable.unavailable.code
export const MISUSED: number = exitTable.misused.code
export const DETACHED: number = exitTable.detached.code
export const UNREAD: number = exitTable.unread.code
export const PAUSED: number = exitTable.runPaused.code

const byStatus: Readonly<Partial<Record<RunStatus, number>>> = {
  completed: DONE,
  failed: exitTable.runFailed.code,
  cancelled: exitTable.runCancelled.code,
  rejected: exitTable.runRejected.code,
}

/** The exit code for a finished run. */
export function codeOfEnd(status: RunStatus): number {
  return byStatus[status] ?? FAILED
}
