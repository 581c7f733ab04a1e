/** `/resume`: replays missed events, then streams live ones. The opening event describes the log at that moment. */
import type { StoredRun } from '../../../core/ports/store.ts'
import { isFinished } from '../../../core/model/run.ts'
import { readForm } from '../../../http/request/form.ts'
import { respondEmpty, respondText } from '../../../http/response/respond.ts'
import type { Call } from '../../../http/routing/route.ts'
import { fieldError } from '../wire/errors.ts'
import type { Family } from '../wire/families.ts'
import { type Fields, integerField, nameField, queryFields } from '../requests/fields.ts'
import { type FollowRequest, follow } from './follow.ts'
import { encodeMetaEvents, metaEventsOf, notFound } from '../view/meta-events.ts'
import { type StreamPosition, streamPositionIn } from '../view/stream-position.ts'
import type { AgentOs } from '../requests/agent-os.ts'
import type { State } from '../view/state.ts'

export async function resumeRun(call: Call, os: AgentOs, family: Family): Promise<void> {
  const component = os.component(family, call)
  const id = call.params['run']!
  const fields = await readFields(call, os.service.limits.maxBodyBytes)
  const session = nameField(fields, 'session_id', os.service.limits.maxNameChars)
  const requested = integerField(fields, 'last_event_index')
  const stored = await os.findRun(call.principal, component.id, id, session)
  if (stored === undefined) return respondUnknownRun(call, id)
  const { state } = await os.views.open(stored).current(stored.next)
  const position = streamPositionIn(state, requested)
  // 204 if the client has everything, which also stops an EventSource from reconnecting.
  if (call.request.method === 'GET' && isFinished(state.status) && position.missed === 0 && requested !== undefined)
    return respondEmpty(call.response, 204)
  const { opening, caughtUp } = metaEventsOf(family, state, position)
  await follow(call, os, {
    ...resumeAfter(os, stored, state, position),
    opening,
    ...(caughtUp !== undefined && { caughtUp }),
  })
}

/** A reconnecting browser's Last-Event-ID is newer than the URL, so it takes precedence. */
async function readFields(call: Call, maxBytes: number): Promise<Fields> {
  if (call.request.method === 'POST') return (await readForm(call.request, maxBytes)).fields
  const header = call.request.headers['last-event-id']
  const fields = queryFields(call.query)
  if (header === undefined || header === '') return fields
  if (!/^\d{1,15}$/.test(String(header)))
    throw fieldError('query', 'Last-Event-ID', 'int_parsing', 'Input should be the id of an event of this run')
  return { ...fields, last_event_index: String(header) }
}

/** Starts at the checkpoint before the first frame that the client has missed, and before the last event, which may end the stream. */
export function resumeAfter(
  os: AgentOs,
  stored: StoredRun,
  state: State,
  { lastIndex }: StreamPosition,
): FollowRequest {
  const known = { run: { ...stored.run, status: state.status }, first: stored.first, next: state.last + 1 }
  return {
    known,
    from: os.views.open(stored).nearest({ event: state.last, frame: lastIndex + 1 }),
    isNeeded: ({ index }) => index > lastIndex,
  }
}

/** Reports an unknown run both by status and by the frame that AgentOS sends. */
function respondUnknownRun(call: Call, id: string): void {
  respondText(call.response, 404, 'text/event-stream; charset=utf-8', encodeMetaEvents([notFound(id)]))
}
