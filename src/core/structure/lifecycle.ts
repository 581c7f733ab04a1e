/** Folds a run's events into its status, open questions and outcome. */
import type { Failure, LoggedEvent, Question } from '../model/event.ts'
import type { RunStatus } from '../model/run.ts'
import { statusAfter } from './run-status.ts'

/** A run's status, open questions and result, from its events. */
export interface RunLifecycle {
  readonly status: RunStatus
  /** Open questions of a paused run. */
  readonly questions: readonly Question[]
  readonly output?: unknown
  /** Why it failed, was cancelled or was rejected. */
  readonly error?: Failure
}

export const queuedRun: RunLifecycle = { status: 'queued', questions: [] }

/** Events that do not concern the lifecycle return the same object. */
export function lifecycleAfter<State extends RunLifecycle>(state: State, event: LoggedEvent): State {
  const next = { ...state, status: statusAfter(state.status, event.type), questions: [] }
  switch (event.type) {
    case 'run.started':
    case 'run.resumed':
      return next
    case 'run.paused':
      return { ...next, questions: event.data.questions }
    case 'run.completed':
      return { ...next, output: event.data.output }
    case 'run.failed':
      return { ...next, error: event.data.error }
    case 'run.cancelled':
      return { ...next, error: endError('cancelled', event.data.reason) }
    case 'run.rejected':
      return { ...next, error: endError('rejected', event.data.reason) }
    default:
      return state
  }
}

function endError(code: 'cancelled' | 'rejected', reason = `the run was ${code}`): Failure {
  return { code, message: reason, retryable: false }
}
