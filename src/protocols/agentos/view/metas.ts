/** The events of a stream that are about the stream: where in the run it begins, and what the client should know about that. */
import { isFinished } from '../../../core/model/run.ts'
import { encodeFrame } from '../../../sse/index.ts'
import { type Family, statusNames } from '../wire/families.ts'
import type { State } from './state.ts'

export interface StreamPosition {
  /** Index of the last event that the client is taken to have. */
  readonly has: number
  readonly requested: number
  readonly missed: number
  /** It claims to have events that do not exist. */
  readonly clamped: boolean
}

/** After a trim the numbers of what is left cannot be compared with those that the client has: it gets all of it. */
export function positionIn({ next, trimmedBefore }: State, asked: number | undefined): StreamPosition {
  const requested = asked ?? -1
  if (trimmedBefore !== undefined)
    return { has: trimmedBefore - 1, requested, missed: next - trimmedBefore, clamped: false }
  const has = Math.max(-1, Math.min(requested, next - 1))
  return { has, requested, missed: next - 1 - has, clamped: requested > has }
}

export interface Metas {
  readonly opening: readonly Meta[]
  /** Between what was missed and what comes. */
  readonly caughtUp?: Meta
}

export interface Meta {
  readonly event: string
  readonly [key: string]: unknown
}

export function metasOf(family: Family, state: State, position: StreamPosition): Metas {
  if (isFinished(state.status) || state.status === 'paused') return { opening: [replay(state, position)] }
  const catchUp = position.missed === 0 ? [] : [catchingUp(state, position)]
  const live = subscribed(family, state, position)
  return position.missed === 0 ? { opening: [live] } : { opening: catchUp, caughtUp: live }
}

function replay(state: State, position: StreamPosition): Meta {
  const status = statusNames[state.status]
  const { next: total } = state
  const message = `Run ${status}. Replaying ${position.missed} missed events (of ${total} total).`
  return {
    event: 'replay',
    run_id: state.run,
    status,
    total_events: position.missed,
    total_buffered: total,
    last_event_index_requested: position.requested,
    message: message + remark(state, position),
    ...caveats(state, position),
  }
}

function catchingUp(state: State, position: StreamPosition): Meta {
  return {
    event: 'catch_up',
    run_id: state.run,
    status: liveStatus(state),
    missed_events: position.missed,
    current_event_count: state.next,
    message: `Catching up on ${position.missed} missed events.${remark(state, position)}`,
    ...caveats(state, position),
  }
}

function subscribed(family: Family, state: State, position: StreamPosition): Meta {
  return {
    event: 'subscribed',
    run_id: state.run,
    status: liveStatus(state),
    current_event_count: state.next,
    message: `Subscribed to ${family.kind} run. Receiving live events.${remark(state, position)}`,
    ...caveats(state, position),
  }
}

function liveStatus({ status }: State): string {
  return status === 'queued' ? 'pending' : 'running'
}

/** What is not as the client may think, for programs. */
function caveats({ next, trimmedBefore }: State, { clamped }: StreamPosition): object {
  return {
    ...(clamped && { last_event_index_clamped_to: next - 1 }),
    ...(trimmedBefore !== undefined && { gap: true, first_available_index: trimmedBefore }),
  }
}

/** The same for people. */
function remark({ next, trimmedBefore }: State, { clamped, requested }: StreamPosition): string {
  if (trimmedBefore !== undefined) return ' What came before was trimmed and cannot be replayed.'
  return clamped ? ` There is no event ${requested}; the last one is ${next - 1}.` : ''
}

export function encodeMetas(metas: readonly Meta[]): string {
  return metas.map((data) => encodeFrame({ event: data.event, data })).join('')
}

export function notFound(id: string): Meta {
  return { event: 'error', error: `Run ${id.slice(0, 100)} not found in buffer or database` }
}
