/** View model of a run: a reducer over its events. */
import type { LoggedEvent } from '../core/model/event.ts'
import { lifecycleAfter, queuedRun, type RunLifecycle } from '../core/structure/lifecycle.ts'
import { RunText } from './text.ts'

/** Maximum number of recent events in the state. The text is complete. */
const EVENTS_MAX = 10_000

/** State of a `RunView`. */
export interface RunViewState extends RunLifecycle {
  readonly text: string
  /** The last ten thousand. */
  readonly events: readonly LoggedEvent[]
}

const emptyView: RunViewState = { ...queuedRun, text: '', events: [] }

/** View model of a run: a reducer over its events, with one state per batch. */
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
      state = lifecycleAfter(state, event)
    }
    const kept = [...state.events, ...events].slice(-EVENTS_MAX)
    this.#state = { ...state, events: kept, text: this.#text.value }
  }
}
