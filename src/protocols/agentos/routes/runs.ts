/** Run routes for all three families: start, list, get, cancel. */
import type { Run } from '../../../core/model/run.ts'
import { readForm } from '../../../http/request/form.ts'
import { readIdempotencyKey } from '../../../http/request/idempotency-key.ts'
import { respondJson } from '../../../http/response/respond.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import { fieldError } from '../wire/errors.ts'
import type { Family } from '../wire/families.ts'
import { continueRun } from './continue.ts'
import { respondRun } from './respond-run.ts'
import { textInput } from '../../../http/request/text-input.ts'
import { parseRunForm } from '../requests/input.ts'
import { type AgentOs, keyOfRunId } from '../requests/agent-os.ts'
import { ownMetadata } from '../wire/run-id.ts'
import { inputText, listedRun, runOutput } from '../view/run-output.ts'
import { resumeRun } from './resume.ts'
import { isReplaced, respondRuns, runsOf } from '../view/session-runs.ts'
import { noteStart } from '../view/sessions.ts'

export function runRoutes(os: AgentOs, family: Family): Route[] {
  const runs = `/${family.path}/{id}/runs`
  const resume = { path: `${runs}/{run}/resume`, handle: (call: Call) => resumeRun(call, os, family) }
  return [
    { method: 'POST', path: runs, handle: (call) => startRun(call, os, family) },
    { method: 'GET', path: runs, handle: (call) => listRuns(call, os, family) },
    { method: 'GET', path: `${runs}/{run}`, handle: (call) => getRun(call, os, family) },
    { method: 'POST', path: `${runs}/{run}/cancel`, handle: (call) => cancelRun(call, os, family) },
    { method: 'POST', path: `${runs}/{run}/continue`, handle: (call) => continueRun(call, os, family) },
    { method: 'POST', ...resume },
    { method: 'GET', ...resume },
  ]
}

async function startRun(call: Call, os: AgentOs, family: Family): Promise<void> {
  const { service } = os
  const component = os.component(family, call)
  const { maxBodyBytes, maxNameChars } = service.limits
  const form = parseRunForm(await readForm(call.request, maxBodyBytes), maxNameChars)
  const { session, metadata, runId, ...modes } = form
  const input = textInput(component, form.input)
  const idempotencyKey =
    runId === undefined ? readIdempotencyKey(call.request.headers['idempotency-key'], maxNameChars) : keyOfRunId(runId)
  const { stored } = await service.start(call.principal, {
    component: component.id,
    input,
    protocol: 'agentos',
    follows: modes.stream,
    ...(session !== undefined && { session }),
    ...(metadata !== undefined && { metadata }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  })
  await noteStart(os, call.principal, stored.run.session, inputText(input), ownUser(stored.run))
  await respondRun(call, os, component, stored, modes, 0)
}

function ownUser({ metadata }: Run): string | undefined {
  const { user_id: user } = ownMetadata(metadata)
  return typeof user === 'string' ? user : undefined
}

async function listRuns(call: Call, os: AgentOs, family: Family): Promise<void> {
  const component = os.component(family, call)
  const session = requiredSession(call)
  const status = call.query.get('status')
  const runs = await runsOf(os, call.principal, session, {
    component: component.id,
    ...(status !== null && { statuses: [status] }),
    show: listedRun,
  })
  respondRuns(call, runs)
}

async function getRun(call: Call, os: AgentOs, family: Family): Promise<void> {
  const component = os.component(family, call)
  const { run } = await os.run(call.principal, component.id, call.params['run']!, requiredSession(call))
  const state = await os.fold(call.principal, run.id)
  respondJson(call.response, 200, runOutput(state, await isReplaced(os, call.principal, run.session, run)))
}

export function requiredSession({ query }: Call): string {
  const session = query.get('session_id')
  if (session === null || session === '') throw fieldError('query', 'session_id', 'missing', 'Field required')
  return session
}

/** Requests a durable stop. No effect on a finished run; `not_found` for an unknown one. */
async function cancelRun(call: Call, os: AgentOs, family: Family): Promise<void> {
  const component = os.component(family, call)
  const session = call.query.get('session_id') ?? undefined
  const { run } = await os.run(call.principal, component.id, call.params['run']!, session)
  await os.service.stop(call.principal, run.id, `Run ${run.id} was cancelled`)
  respondJson(call.response, 200, {})
}
