/** Folds a run's events into its status, open questions and outcome. */
import type { Failure, LoggedEvent, Question } from '../model/event.ts'
import type { RunStatus } from '../model/run.ts'

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
  switch (event.type) {
    case 'run.started':
    case 'run.resumed':
      return { ...state, status: 'running', questions: [] }
    case 'run.paused':
      return { ...state, status: 'paused', questions: event.data.questions }
    case 'run.completed':
      return { ...state, status: 'completed', questions: [], output: event.data.output }
    case 'run.failed':
      return { ...state, status: 'failed', questions: [], error: event.data.error }
    case 'run.cancelled':
      return withEnd(state, 'cancelled', event.data.reason)
    case 'run.rejected':
      return withEnd(state, 'rejected', event.data.reason)
    default:
      return state
  }
}

function withEnd<State extends RunLifecycle>(
  state: State,
  status: 'cancelled' | 'rejected',
  reason = `the run was ${status}`,
): State {
  return { ...state, status, questions: [], error: { code: status, message: reason, retryable: false } }
}
