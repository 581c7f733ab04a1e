/** View model of a run: a reducer over its events. */
import type { Failure, LoggedEvent, Question } from '../core/model/event.ts'
import type { RunStatus } from '../core/model/run.ts'
import { RunText } from './text.ts'

/** Only the last events are kept; the text is kept whole. */
const EVENTS_MAX = 10_000

export interface RunViewState {
  readonly status: RunStatus
  readonly text: string
  /** The last ten thousand. */
  readonly events: readonly LoggedEvent[]
  /** Open questions of a paused run. */
  readonly questions: readonly Question[]
  readonly output?: unknown
  /** Why it failed, was cancelled or was rejected. */
  readonly error?: Failure
}

const emptyView: RunViewState = { status: 'queued', text: '', events: [], questions: [] }

export class RunView {
  #state = emptyView
  readonly #text = new RunText()

  get state(): RunViewState {
    return this.#state
  }

  /** Applies a batch with one state change. */
  apply(events: readonly LoggedEvent[]): void {
    let state = this.#state
    for (const event of events) {
      this.#text.apply(event)
      state = step(state, event)
    }
    const kept = [...state.events, ...events].slice(-EVENTS_MAX)
    this.#state = { ...state, events: kept, text: this.#text.value }
  }
}

function step(state: RunViewState, event: LoggedEvent): RunViewState {
  switch (event.type) {
    case 'run.started':
      return { ...state, status: 'running', questions: [] }
    case 'run.resumed':
      return { ...state, status: 'running', questions: [] }
    case 'run.paused':
      return { ...state, status: 'paused', questions: event.data.questions }
    case 'run.completed':
      return { ...state, status: 'completed', questions: [], output: event.data.output }
    case 'run.failed':
      return { ...state, status: 'failed', questions: [], error: event.data.error }
    case 'run.cancelled':
      return ended(state, 'cancelled', event.data.reason)
    case 'run.rejected':
      return ended(state, 'rejected', event.data.reason)
    default:
      return state
  }
}

function ended(state: RunViewState, status: 'cancelled' | 'rejected', reason = `the run was ${status}`): RunViewState {
  return { ...state, status, questions: [], error: { code: status, message: reason, retryable: false } }
}
