/** Resumes a paused run with answers to its questions. */
import type { NodeDeps } from '../node-deps.ts'
import { refusalOf, RunLog } from '../execution/run-log.ts'
import type { Run } from '../model/run.ts'
import type { StoredRun } from '../ports/store.ts'
import { divergenceDecision } from './ledger-reader.ts'

export interface RunAnswers {
  readonly answers: Readonly<Record<string, unknown>>
  readonly by?: string
}

/** Records the answers of a run that executes elsewhere: the next worker that claims it resumes with them. */
export async function releaseWithAnswers(deps: NodeDeps, claimed: StoredRun, runAnswers: RunAnswers): Promise<void> {
  const log = new RunLog(deps, claimed)
  log.append({ type: 'run.resumed', data: runAnswers })
  log.append({ type: 'run.released', data: { reason: 'answered' } })
  await log.flush().catch((cause: unknown) => {
    throw refusalOf(cause)
  })
}

/** Whether an agent that is still in memory must restart from its log, because its code was fixed. */
export function restartsAgent({ waiting = [] }: Run, { answers }: RunAnswers): boolean {
  return waiting.some(({ id, kind }) => kind === 'diverged' && divergenceDecision(answers[id]) === 'retry')
}
