/** Folds the log of a stream into the state from which appends are decided: tail, sequence and producers. */
import type { ViewKind } from '../../../core/delivery/view-cache.ts'
import type { Event, LoggedEvent } from '../../../core/model/event.ts'
import { isTerminal } from '../../../core/model/event.ts'
import type { Content } from '../wire/content.ts'

export interface ProducerPosition {
  readonly id: string
  readonly epoch: number
  readonly seq: number
}

/** An append in the log. */
interface Appended {
  readonly content: Content
  readonly seq?: string
  readonly producer?: ProducerPosition
}

/** Records before the first append: created, started, paused. */
export const FIRST_APPEND = 3

export interface StreamState {
  /** Index after the last append. */
  readonly tail: number
  readonly isClosed: boolean
  /** Last `Stream-Seq`. */
  readonly seq?: string
  readonly producers: ReadonlyMap<string, ProducerPosition>
}

const APPENDED = 'stream.appended'

export function appendEvent(value: Appended): Event {
  return { type: 'custom.emitted', data: { name: APPENDED, value } }
}

/** Events that close a paused stream. They record the producer's sequence number, for retries. */
export function closeEvents(producer: ProducerPosition | undefined): readonly Event[] {
  return [
    { type: 'run.resumed', data: { answers: {} } },
    { type: 'run.completed', data: producer === undefined ? {} : { output: { producer } } },
  ]
}

/** The append in an event; undefined if the event is none. */
export function appendedIn(event: Event | LoggedEvent): Appended | undefined {
  return event.type === 'custom.emitted' && event.data.name === APPENDED ? (event.data.value as Appended) : undefined
}

export const streamKind: ViewKind<StreamState, never> = {
  name: 'durable-streams',
  position: () => 0,
  mayEnd: () => false,
  projection: {
    initial: () => ({ tail: FIRST_APPEND, isClosed: false, producers: new Map() }),
    apply(state, event) {
      const appended = appendedIn(event)
      if (appended !== undefined) {
        const { seq = state.seq, producer } = appended
        const tail = event.index + 1
        return { state: { ...withPosition(state, producer), tail, ...(seq !== undefined && { seq }) }, frames: [] }
      }
      if (!isTerminal(event.type)) return { state, frames: [] }
      const output = event.type === 'run.completed' ? event.data.output : undefined
      const { producer } = (output ?? {}) as { readonly producer?: ProducerPosition }
      return { state: { ...withPosition(state, producer), isClosed: true }, frames: [] }
    },
  },
}

function withPosition(state: StreamState, turn: ProducerPosition | undefined): StreamState {
  return turn === undefined ? state : { ...state, producers: new Map(state.producers).set(turn.id, turn) }
}
