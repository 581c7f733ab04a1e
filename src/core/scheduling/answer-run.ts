/** Answers the questions of a paused run: claims it, checks the answers again under the lease, and resumes it. */
import { claimPaused } from './claim-paused.ts'
import type { RunAnswers } from '../recovery/run-answers.ts'
import type { Dispatcher } from './dispatcher.ts'
import { encodeRequested } from '../execution/encode-requested.ts'
import { HoldfastError } from '../model/errors.ts'
import type { NodeDeps } from '../node-deps.ts'
import type { Run } from '../model/run.ts'
import type { StoredRun } from '../ports/store.ts'
import { validateAnswers } from '../execution/validate-answers.ts'

export interface AnswerParts extends NodeDeps {
  readonly dispatcher: Dispatcher
  /** Executes a run that was claimed for this node, and logs failures. */
  readonly execute: (claimed: StoredRun) => void
}

/** Resolves when the run has started again, or when its answers are recorded for a node that serves its component. */
export async function answerRun(deps: AnswerParts, run: Run, runAnswers: RunAnswers): Promise<void> {
  const { store, registry, limits, dispatcher, execute } = deps
  const { id, component } = run
  const { answers } = runAnswers
  if (registry.find(component) === undefined && !dispatcher.isForOthers(run))
    throw new HoldfastError(
      'unsupported',
      `component ${component} is not served by this server: send the answer to a server that serves it, or start one`,
    )
  validateAnswers(run, answers)
  encodeRequested({ type: 'run.resumed', data: runAnswers }, limits)
  const claimed = await claimPaused(deps, {
    id,
    worker: dispatcher.worker,
    mayTakeOver: () => dispatcher.mayTakeOver,
    check: (now) => validateAnswers(now, answers),
  })
  try {
    validateAnswers(claimed.run, answers) // its questions may have changed meanwhile
  } catch (refusal) {
    // This node holds the claim: the run is still paused, or was abandoned by the node that resumed it.
    if (claimed.run.status === 'paused') await store.release(id, claimed.epoch)
    else execute(claimed)
    throw refusal
  }
  await dispatcher.take(claimed, runAnswers)
}
