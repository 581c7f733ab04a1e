/** Checkpoints: positions between a run's messages. The log implies them all, so none are stored. */
import { SESSIONS } from '../../../core/model/document.ts'
import { respondJson } from '../../../http/response/respond.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import { isFinished } from '../../../core/model/run.ts'
import { type Family, statusNames } from '../wire/families.ts'
import { integerField, nameField, queryFields } from '../requests/fields.ts'
import { conversationOf, isWholeAt, type Message, wholeCountOf } from '../view/messages.ts'
import { inRange } from '../requests/continuation.ts'
import { type ForkOrigin, forkOrigin } from '../../../core/sessions/session-fork.ts'
import type { AgentOs } from '../requests/agent-os.ts'
import { requiredSession } from './runs.ts'
import { runOutput } from '../view/run-output.ts'
import { noSession, sessionOf } from '../view/session-runs.ts'
import { factsOf, type SessionFacts } from '../view/sessions.ts'
import { rootOf, secondsOf, type State } from '../view/state.ts'

export function checkpointRoutes(os: AgentOs, family: Family): Route[] {
  const checkpoints = `/${family.path}/{id}/runs/{run}/checkpoints`
  const fork = `/${family.path}/{id}/sessions/{session}/fork`
  return [
    { method: 'GET', path: checkpoints, handle: (call) => listCheckpoints(call, os, family) },
    { method: 'GET', path: `${checkpoints}/{index}`, handle: (call) => getCheckpoint(call, os, family) },
    { method: 'POST', path: fork, handle: (call) => forkSession(call, os, family) },
  ]
}

async function stateOf(call: Call, os: AgentOs, family: Family): Promise<State> {
  const component = os.component(family, call)
  const { run } = await os.run(call.principal, component.id, call.params['run']!, requiredSession(call))
  return os.fold(call.principal, run.id)
}

async function listCheckpoints(call: Call, os: AgentOs, family: Family): Promise<void> {
  const state = await stateOf(call, os, family)
  const messages = conversationOf(rootOf(state))
  const counts = messages.map((_, index) => index + 1).filter((count) => isWholeAt(messages, count))
  respondJson(call.response, 200, {
    run_id: state.shownId,
    session_id: state.session,
    checkpoints: counts.map((count, index) => checkpoint(state, messages, count, index + 1)),
  })
}

async function getCheckpoint(call: Call, os: AgentOs, family: Family): Promise<void> {
  const index = integerField(call.params, 'index', 'query')!
  const state = await stateOf(call, os, family)
  const messages = conversationOf(rootOf(state))
  const count = wholeCountOf(messages, inRange(index, messages.length))
  respondJson(call.response, 200, {
    checkpoint: checkpoint(state, messages, count),
    snapshot: { ...runOutput(state), messages: messages.slice(0, count).map(({ shown }) => shown) },
  })
}

const PREVIEW_CHARS_MAX = 120

/** `count`: number of messages before it, the value of `continue_from`. */
function checkpoint(state: State, messages: readonly Message[], count: number, ordinal?: number): object {
  const last = messages[count - 1]?.shown
  const isLatest = count === messages.length
  return {
    checkpoint_id: ordinal === undefined ? null : String(ordinal),
    run_id: state.shownId,
    session_id: state.session,
    message_index: count,
    continue_from: count,
    status: statusNames[state.status],
    reason: isLatest && isFinished(state.status) ? 'end' : 'checkpoint',
    created_at: last?.created_at ?? secondsOf(state.createdAt),
    message_id: last?.id ?? null,
    message_role: last?.role ?? null,
    message_preview: last?.content.slice(0, PREVIEW_CHARS_MAX) ?? null,
    is_latest: isLatest,
  }
}

/** A fork references the runs that exist at that moment. Logs are immutable, so nothing is copied. */
async function forkSession(call: Call, os: AgentOs, family: Family): Promise<void> {
  const component = os.component(family, call)
  const origin = await sessionOf(os, call.principal, call.params['session']!)
  const { runs } = await os.service.list(call.principal, { session: origin.id, component: component.id, limit: 1 })
  const last = runs[0]?.run
  if (last === undefined && origin.label !== component.id) throw noSession()
  const user = nameField(queryFields(call.query), 'user_id', os.service.limits.maxNameChars)
  const id = crypto.randomUUID()
  // Forking an empty fork forks its origin at the same position.
  const forkedFrom: ForkOrigin =
    last === undefined
      ? (forkOrigin(origin) ?? { session: origin.id })
      : { session: origin.id, last: { createdAt: last.createdAt, id: last.id } }
  const { forkedFrom: _forkedFrom, ...facts } = factsOf(origin) as SessionFacts & { readonly forkedFrom?: unknown }
  await os.service.documents(call.principal).put(
    {
      collection: SESSIONS,
      id,
      label: component.id,
      ...(origin.title !== undefined && { title: origin.title }),
      body: { agentos: { ...facts, ...(user !== undefined && { user_id: user }) }, forkedFrom },
    },
    0,
  )
  respondJson(call.response, 200, { session_id: id, forked_from_session_id: origin.id })
}
