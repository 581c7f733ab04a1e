/**
 * Relays events of an upstream with the Responses API: all their fields, with this server's response id. The upstream's end is sent
 * with Holdfast's terminal event, so that success is reported only for `run.completed` (RUN-3).
 */
import { eventTable, type LoggedEvent, type LoggedEventOf } from '../../../core/model/event.ts'
import { actorKey } from '../../../core/structure/actors.ts'
import { retractedFrom } from '../../../core/structure/retraction.ts'
import type { Piece } from '../view/reply.ts'
import { toResponseId } from '../wire/ids.ts'
import type { ResponseState } from './state.ts'

type Fields = Readonly<Record<string, unknown>>

export interface ResponseRelay {
  /** The last upstream event is logged, and the following events are derived from it. */
  readonly isVerbatim: boolean
  /** The start of the response was sent. */
  readonly hasStarted: boolean
  /** Response id on the upstream. */
  readonly id: string | undefined
  /** The upstream's end event. */
  readonly end: Fields | undefined
}

export const beginningRelay: ResponseRelay = { isVerbatim: true, hasStarted: false, id: undefined, end: undefined }

/** After a retry, derived events are shown until the upstream sends its first event. */
export function relayAfter(relay: ResponseRelay | undefined, event: LoggedEvent): ResponseRelay | undefined {
  if (relay === undefined) return undefined
  if (event.type === 'run.started' && event.data.attempt > 1) return { ...relay, isVerbatim: false }
  if (event.type !== 'attempt.discarded' || retractedFrom(event, actorKey(undefined)) === Infinity) return relay
  return { ...relay, isVerbatim: false, end: undefined }
}

/** Whether the upstream's own event shows a piece, already or later. */
export function isRelayed(relay: ResponseRelay | undefined, event: LoggedEvent, { type }: Piece): boolean {
  if (relay === undefined) return false
  if (type === 'created' || type === 'started') return true
  return relay.isVerbatim && eventTable[event.type].effect === 'content' && type !== 'retracted'
}

const ENDS: ReadonlySet<unknown> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
  'error',
])

/** The state after an upstream event, and the event to send; none if only the derived events are logged. */
export function received(
  state: ResponseState,
  { data, actor }: LoggedEventOf<'upstream.received'>,
): { readonly relay: ResponseRelay | undefined; readonly fields?: Fields } {
  const { relay } = state
  if (relay === undefined || actor !== undefined || data.protocol !== 'openai') return { relay }
  const fields = data.data as Fields | undefined
  if (typeof fields !== 'object') return { relay: { ...relay, isVerbatim: false } }
  const { id } = (fields['response'] ?? {}) as { id?: unknown }
  const next = { ...relay, isVerbatim: true, id: relay.id ?? (typeof id === 'string' ? id : undefined) }
  if (ENDS.has(fields['type'])) return { relay: { ...next, end: fields } }
  return { relay: { ...next, hasStarted: true }, fields: ownFields(state, fields) }
}

/** The upstream's end event, with this server's ids. Undefined if it ended differently or has not ended. */
export function relayedEnd(state: ResponseState, type: string): Fields | undefined {
  const { relay } = state
  if (relay?.isVerbatim !== true || relay.end?.['type'] !== type) return undefined
  return ownFields(state, relay.end)
}

function ownFields(state: ResponseState, event: Fields): Fields {
  const { type: _type, sequence_number: _number, ...fields } = event
  const { response } = fields
  return typeof response === 'object' && response !== null
    ? { ...fields, response: own(state, response as Fields) }
    : fields
}

/** Replaces the fields that describe the server. */
function own({ reply, about }: ResponseState, response: Fields): Fields {
  const background = about?.background ?? false
  return {
    ...response,
    id: toResponseId(reply.part),
    ...('background' in response && { background }),
    ...('previous_response_id' in response && { previous_response_id: about?.previous ?? null }),
  }
}

/** The upstream's own response, once it has ended. */
export function relayedResponse(state: ResponseState): object | undefined {
  const { status } = state
  if (status !== 'completed' && status !== 'incomplete') return undefined
  return relayedEnd(state, `response.${status}`)?.['response'] as object | undefined
}
