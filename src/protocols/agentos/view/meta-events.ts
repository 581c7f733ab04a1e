/** Meta events of a stream: where it starts, and caveats. */
import { isFinished } from '../../../core/model/run.ts'
import { encodeFrame } from '../../../sse/index.ts'
import { type Family, statusNames } from '../wire/families.ts'
import type { State } from './state.ts'
import type { StreamPosition } from './stream-position.ts'

export interface MetaEvents {
  readonly opening: readonly MetaEvent[]
  /** Sent between replay and live events. */
  readonly caughtUp?: MetaEvent
}

export interface MetaEvent {
  readonly event: string
  readonly [key: string]: unknown
}

export function metaEventsOf(family: Family, state: State, position: StreamPosition): MetaEvents {
  if (isFinished(state.status) || state.status === 'paused') return { opening: [replay(state, position)] }
  const catchUp = position.missed === 0 ? [] : [catchUpMeta(state, position)]
  const live = subscribedMeta(family, state, position)
  return position.missed === 0 ? { opening: [live] } : { opening: catchUp, caughtUp: live }
}

function replay(state: State, position: StreamPosition): MetaEvent {
  const status = statusNames[state.status]
  const { next: total } = state
  const message = `Run ${status}. Replaying ${position.missed} missed events (of ${total} total).`
  return {
    event: 'replay',
    run_id: state.shownId,
    status,
    total_events: position.missed,
    total_buffered: total,
    last_event_index_requested: position.requested,
    message: message + gapText(state, position),
    ...gapFields(state, position),
  }
}

function catchUpMeta(state: State, position: StreamPosition): MetaEvent {
  return {
    event: 'catch_up',
    run_id: state.shownId,
    status: liveStatus(state),
    missed_events: position.missed,
    current_event_count: state.next,
    message: `Catching up on ${position.missed} missed events.${gapText(state, position)}`,
    ...gapFields(state, position),
  }
}

function subscribedMeta(family: Family, state: State, position: StreamPosition): MetaEvent {
  return {
    event: 'subscribed',
    run_id: state.shownId,
    status: liveStatus(state),
    current_event_count: state.next,
    message: `Subscribed to ${family.kind} run. Receiving live events.${gapText(state, position)}`,
    ...gapFields(state, position),
  }
}

function liveStatus({ status }: State): string {
  return status === 'queued' ? 'pending' : 'running'
}

/** Caveats, machine-readable. */
function gapFields({ next, trimmedBefore }: State, { isClamped }: StreamPosition): object {
  return {
    ...(isClamped && { last_event_index_clamped_to: next - 1 }),
    ...(trimmedBefore !== undefined && { gap: true, first_available_index: trimmedBefore }),
  }
}

/** Caveats, as text. */
function gapText({ next, trimmedBefore }: State, { isClamped, requested }: StreamPosition): string {
  if (trimmedBefore !== undefined) return ' Earlier events were trimmed and cannot be replayed.'
  return isClamped ? ` Event ${requested} does not exist; the last one is ${next - 1}.` : ''
}

export function encodeMetaEvents(metas: readonly MetaEvent[]): string {
  return metas.map((data) => encodeFrame({ event: data.event, data })).join('')
}

export function notFound(id: string): MetaEvent {
  return { event: 'error', error: `Run ${id.slice(0, 100)} not found in buffer or database` }
}
