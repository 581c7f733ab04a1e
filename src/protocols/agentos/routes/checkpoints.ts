/** Checkpoints: positions between a run's messages. The log implies them all, so none are stored. */
import { HoldfastError } from '../../../core/model/errors.ts'
import { SESSIONS } from '../../../core/model/document.ts'
import { respondJson } from '../../../http/response/respond.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import { isFinished } from '../../../core/model/run.ts'
import { type Family, statusNames } from '../wire/families.ts'
import { integerField, nameField, queryFields } from '../requests/fields.ts'
import { conversationOf, type Message } from '../view/messages.ts'
import type { AgentOs } from '../requests/agent-os.ts'
import { requiredSession } from './runs.ts'
import { runOutput } from '../view/run-output.ts'
import { type ForkOrigin, forkOrigin, noSession, sessionOf } from '../view/session-runs.ts'
import { factsOf } from '../view/sessions.ts'
import { rootOf, type State } from '../view/state.ts'

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
  respondJson(call.response, 200, {
    run_id: state.shownId,
    session_id: state.session,
    checkpoints: messages.map((_, index) => checkpoint(state, messages, index)),
  })
}

async function getCheckpoint(call: Call, os: AgentOs, family: Family): Promise<void> {
  const index = integerField(call.params, 'index', 'query')!
  const state = await stateOf(call, os, family)
  const messages = conversationOf(rootOf(state))
  if (index < 0 || index >= messages.length)
    throw new HoldfastError('invalid_request', `message_index ${index} is out of range: there are ${messages.length}`)
  const snapshot = runOutput(state)
  const kept = messages.slice(0, index + 1).map(({ log: _log, ...message }) => message)
  respondJson(call.response, 200, {
    checkpoint: checkpoint(state, messages, index),
    snapshot: { ...snapshot, messages: kept },
  })
}

const PREVIEW_CHARS_MAX = 120

function checkpoint(state: State, messages: readonly Message[], index: number): object {
  const { id, role, content, created_at: createdAt } = messages[index]!
  const isLatest = index === messages.length - 1
  const isLastQuestion = index === messages.findLastIndex((message) => message.role === 'user')
  return {
    checkpoint_id: String(index + 1),
    run_id: state.shownId,
    session_id: state.session,
    message_index: index,
    continue_from: isLatest ? 'end' : isLastQuestion ? 'last_user' : null,
    status: statusNames[state.status],
    reason: isLatest && isFinished(state.status) ? 'end' : 'checkpoint',
    created_at: createdAt,
    message_id: id,
    message_role: role,
    message_preview: content.slice(0, PREVIEW_CHARS_MAX),
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
  await os.service.documents(call.principal).put(
    {
      collection: SESSIONS,
      id,
      label: component.id,
      ...(origin.title !== undefined && { title: origin.title }),
      body: { agentos: { ...factsOf(origin), ...(user !== undefined && { user_id: user }), forkedFrom } },
    },
    0,
  )
  respondJson(call.response, 200, { session_id: id, forked_from_session_id: origin.id })
}
