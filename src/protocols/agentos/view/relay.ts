/**
 * Relays the events of an AgentOS upstream: all their fields, with only the ids replaced. Derived events update the state and are
 * not shown. Terminal frames are sent with Holdfast's terminal event and the fields of the upstream's (RUN-3).
 */
import { type EventType, eventTable, type LoggedEvent, type LoggedEventOf } from '../../../core/model/event.ts'
import type { ComponentKind } from '../../../core/ports/component.ts'
import { families, type LifecycleNames } from '../wire/families.ts'
import type { FrameWriter } from './frame-writer.ts'
import { rootOf, type State } from './state.ts'

export type UpstreamFields = Readonly<Record<string, unknown>>

export interface Relay {
  /** The upstream's run id. */
  readonly run: string | undefined
  /** The last upstream event was sent unchanged, and the following events are derived from it. */
  readonly isVerbatim: boolean
  /** The start of the run was sent. */
  readonly hasStarted: boolean
  /** The upstream's event that ended or paused the run; sent with Holdfast's own event. */
  readonly end: UpstreamFields | undefined
}

const beginning: Relay = { run: undefined, isVerbatim: false, hasStarted: false, end: undefined }

export function beginRelay(writer: FrameWriter, { data }: LoggedEventOf<'run.created'>): void {
  if (data.upstream === 'agentos') writer.state = { ...writer.state, relay: beginning }
}

/** A start is sent as the upstream's own event. Later attempts send derived frames until the next upstream event. */
export function awaitRelay(writer: FrameWriter): boolean {
  const { relay } = writer.state
  if (relay !== undefined) writer.state = { ...writer.state, relay: { ...relay, isVerbatim: false } }
  return relay !== undefined
}

/** Whether an event is derived from the previous upstream event, which was sent instead. */
export function isDerived({ relay }: State, type: EventType): boolean {
  return relay?.isVerbatim === true && eventTable[type].effect === 'content' && type !== 'upstream.received'
}

/** Whether the start must be sent before an event, because the upstream has sent none. */
export function lacksStart({ relay }: State, { type, data }: LoggedEvent): boolean {
  if (relay === undefined || relay.hasStarted || relay.isVerbatim) return false
  const { effect } = eventTable[type]
  if (effect === 'terminal' || effect === 'pause') return true
  // Recorded work is not shown.
  return effect === 'content' && type !== 'upstream.received' && (data as { key?: unknown }).key === undefined
}

/** Skips derived frames that the upstream already sent as its own events. */
export function withoutFrames<Result>(writer: FrameWriter, work: () => Result): Result {
  writer.isMuted = writer.state.relay?.isVerbatim === true
  const result = work()
  writer.isMuted = false
  return result
}

export function noteStarted(writer: FrameWriter): void {
  const { relay } = writer.state
  if (relay !== undefined) writer.state = { ...writer.state, relay: { ...relay, hasStarted: true } }
}

export function upstreamReceived(writer: FrameWriter, { data }: LoggedEventOf<'upstream.received'>): void {
  const { relay } = writer.state
  if (relay === undefined || data.protocol !== 'agentos' || writer.event.actor !== undefined) return
  const fields = data.data as UpstreamFields | undefined
  if (fields === undefined) {
    writer.state = { ...writer.state, relay: { ...relay, isVerbatim: false } }
    return
  }
  const { run_id: id } = fields
  const run = relay.run ?? (typeof id === 'string' ? id : undefined)
  const isEnd = (id === undefined || id === run) && lifecycleOf(data.name, rootOf(writer.state).kind) !== undefined
  const next: Relay = { ...relay, run, isVerbatim: true, hasStarted: true }
  writer.state = { ...writer.state, relay: isEnd ? { ...next, end: fields } : next }
  if (!isEnd) writer.relay(data.name, ownFields(writer.state, fields))
}

type EndName = Exclude<keyof LifecycleNames, 'started'>

const ENDS: readonly EndName[] = ['completed', 'failed', 'cancelled', 'paused']

function lifecycleOf(name: string, kind: ComponentKind): EndName | undefined {
  const { events } = families[kind]
  return ENDS.find((end) => events[end] === name)
}

/** The fields of the upstream's end event, with this server's ids; undefined if it ended differently or has not ended. */
export function relayedEnd(state: State, how: EndName): UpstreamFields | undefined {
  const end = state.relay?.end
  if (end === undefined || lifecycleOf(String(end['event']), rootOf(state).kind) !== how) return undefined
  return ownFields(state, end)
}

/** Replaces the upstream's run id with this server's, wherever it occurs. */
function ownFields({ relay, shownId }: State, fields: UpstreamFields): UpstreamFields {
  const theirs = relay?.run
  if (theirs === undefined || theirs === shownId) return fields
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value === theirs ? shownId : value]))
}

/** Clears the upstream's end event: after a pause, another one follows. */
export function forgetEnd(writer: FrameWriter): void {
  const { relay } = writer.state
  if (relay !== undefined) writer.state = { ...writer.state, relay: { ...relay, end: undefined } }
}

/** Fields of the complete run, from the upstream's end event. */
export function relayedOutput(state: State): UpstreamFields {
  const fields = relayedEnd(state, 'completed')
  if (fields === undefined || state.status !== 'completed') return {}
  const { event: _event, event_index: _index, created_at: _created, nested_depth: _depth, ...output } = fields
  return output
}
