/** How the program ends, as a number for scripts. */
import type { RunStatus } from '../core/model/run.ts'

interface ExitCode {
  readonly code: number
  /** For docs/cli.md. */
  readonly meaning: string
}

export const exitTable = {
  done: { code: 0, meaning: 'It is done; of a run that was followed: it completed.' },
  failed: { code: 1, meaning: 'It could not be done: no server, a damaged file, a request that was refused.' },
  misused: { code: 2, meaning: 'The command line makes no sense; nothing was done.' },
  runFailed: { code: 3, meaning: 'The run failed.' },
  runCancelled: { code: 4, meaning: 'The run was stopped.' },
  runRejected: { code: 5, meaning: 'The component refused the run.' },
  runPaused: { code: 6, meaning: 'The run waits for an answer, and nobody watches who could be waited for.' },
  unavailable: {
    code: 75,
    meaning:
      'The store cannot be used for now, as while another program reads its file; the same command may work later.',
  },
  unread: { code: 141, meaning: 'Whoever read the output went away, as head does; the run goes on.' },
  detached: { code: 130, meaning: 'Left with Ctrl-C; the run goes on.' },
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

/** Of a run that has ended. */
export function codeOfEnd(status: RunStatus): number {
  return byStatus[status] ?? FAILED
}
