/** Run routes for all three families: start, list, get, cancel, continue. */
import type { Component } from '../../../core/ports/component.ts'
import { type ErrorCode, errorTable, HoldfastError } from '../../../core/model/errors.ts'
import { isFinished, type Run, type RunStatus } from '../../../core/model/run.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import { stopWhenGone } from '../../../http/response/stop-when-gone.ts'
import { readForm } from '../../../http/request/form.ts'
import { readIdempotencyKey } from '../../../http/request/idempotency-key.ts'
import { noteDurability } from '../../../http/response/note-durability.ts'
import { respondJson } from '../../../http/response/respond.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import { foldRun } from '../../../http/response/view.ts'
import { answersFrom } from '../requests/answers.ts'
import { fieldError } from '../wire/errors.ts'
import { type Family, statusesNamed, statusNames } from '../wire/families.ts'
import { type Fields, nameField, switchField, textField } from '../requests/fields.ts'
import { follow, followFrom } from './follow.ts'
import { textInput } from '../../../http/request/text-input.ts'
import { modesOf, parseRunForm, type RunModes } from '../requests/input.ts'
import { type AgentOs, keyOfRunId } from '../requests/agent-os.ts'
import { ownMetadata, shownRunId } from '../wire/run-id.ts'
import { inputText, listedRun, runOutput } from '../view/run-output.ts'
import { resumeRun } from './resume.ts'
import { respondRuns, runsOf } from '../view/session-runs.ts'
import { noteStart } from '../view/sessions.ts'
import type { State } from '../view/state.ts'

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
  await answer(call, os, component, stored, modes, 0)
}

function ownUser({ metadata }: Run): string | undefined {
  const { user_id: user } = ownMetadata(metadata)
  return typeof user === 'string' ? user : undefined
}

/** Responds in one of the four modes; `since` is the log index from which the client wants events. */
async function answer(
  call: Call,
  os: AgentOs,
  component: Component,
  stored: StoredRun,
  modes: RunModes,
  since: number,
): Promise<void> {
  const { id, session, status } = stored.run
  if (modes.background) noteDurability(call.response, os.service)
  if (!modes.stream && modes.background)
    return respondJson(call.response, 202, {
      run_id: shownRunId(stored.run),
      session_id: session,
      status: statusNames[status],
    })
  const leaves = modes.cancelOnDisconnect ?? (!modes.background && component.onDisconnect === 'stop')
  if (leaves) stopWhenGone(call, os.service, id)
  if (modes.stream) return follow(call, os, await followFrom(os, stored, since))
  const state = await settledState(call, os, stored)
  respondJson(call.response, modes.httpErrors ? httpStatus(state) : 200, runOutput(state))
}

/** Waits for a run's end or next pause. */
function settledState(call: Call, { service, projection }: AgentOs, { run, next }: StoredRun): Promise<State> {
  return foldRun(service, call.principal, run.id, projection, {
    until: (state, event) => state.status === 'paused' && event.index >= next - 1,
    wait: call.signal,
  })
}

function httpStatus({ status, outcome }: State): number {
  if (status === 'cancelled') return errorTable.conflict.status
  if (outcome?.error === undefined) return 200
  const { code } = outcome.error
  return Object.hasOwn(errorTable, code) ? errorTable[code as ErrorCode].status : errorTable.agent_failed.status
}

async function listRuns(call: Call, os: AgentOs, family: Family): Promise<void> {
  const component = os.component(family, call)
  const session = requiredSession(call)
  const status = call.query.get('status')
  const runs = await runsOf(os, call.principal, session, {
    component: component.id,
    ...(status !== null && { statuses: statusesNamed([status]) }),
    show: listedRun,
  })
  respondRuns(call, runs)
}

async function getRun(call: Call, os: AgentOs, family: Family): Promise<void> {
  const component = os.component(family, call)
  const { run } = await os.run(call.principal, component.id, call.params['run']!, requiredSession(call))
  respondJson(call.response, 200, runOutput(await os.fold(call.principal, run.id)))
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

async function continueRun(call: Call, os: AgentOs, family: Family): Promise<void> {
  const { service } = os
  const component = os.component(family, call)
  const { fields } = await readForm(call.request, service.limits.maxBodyBytes)
  const session = nameField(fields, 'session_id', service.limits.maxNameChars)
  if (session === undefined && family.kind !== 'workflow')
    throw new HoldfastError('invalid_request', 'session_id is required for this action')
  const modes = modesOf(fields)
  refuseRewriting(fields)
  const stored = await os.run(call.principal, component.id, call.params['run']!, session)
  const again = isFinished(stored.run.status) ? await newRunFor(call, os, stored, fields) : undefined
  if (again !== undefined) return answer(call, os, component, again, modes, 0)
  const { run, next } = stored
  if (run.status !== 'paused') throw new HoldfastError('conflict', NOT_PAUSED[run.status])
  const continued = await service.answer(call.principal, run.id, answersFrom(run.waiting ?? [], family, fields))
  await answer(call, os, component, continued, modes, next)
}

/** Logs are immutable, so requests to rewrite one are rejected. */
function refuseRewriting(fields: Fields): void {
  const from = textField(fields, 'continue_from') ?? 'end'
  if (/^\d+$/.test(from))
    throw new HoldfastError('unsupported', `a run cannot be continued from message ${from}, only from its end`)
  if (from !== 'end' && from !== 'last_user')
    throw new HoldfastError('invalid_request', "continue_from must be 'end', 'last_user' or an integer")
  if (switchField(fields, 'replace_original', false))
    throw new HoldfastError('unsupported', 'runs cannot be replaced: leave out replace_original to get a new run')
}

const NOT_PAUSED: Readonly<Record<RunStatus, string>> = {
  queued: 'run is already running',
  running: 'run is already running',
  paused: 'run is paused',
  completed: 'run is already completed',
  failed: 'run has errored',
  rejected: 'run has errored',
  cancelled: 'run is already cancelled',
}

/** A finished log is closed, so continuing starts a new run in the same session that references the old one. */
async function newRunFor(call: Call, os: AgentOs, { run }: StoredRun, fields: Fields): Promise<StoredRun> {
  const regenerate = switchField(fields, 'regenerate', false) || fields['continue_from'] === 'last_user'
  const text = textField(fields, 'input')
  if (!regenerate && text === undefined) throw new HoldfastError('conflict', NOT_PAUSED[run.status])
  const { speakers } = await os.fold(call.principal, run.id, { isLookup: true })
  const original = speakers.get(run.id)?.input
  const link = regenerate ? { regenerated_from: run.id } : { forked_from_run_id: run.id }
  const instructions = textField(fields, 'additional_instructions')
  const { agentos = {}, ...kept } = run.metadata ?? {}
  const about = { ...(agentos as object), ...link, ...(instructions && { additional_instructions: instructions }) }
  const { stored } = await os.service.start(call.principal, {
    component: run.component,
    input: text ?? original,
    session: run.session,
    protocol: 'agentos',
    metadata: { ...kept, agentos: about },
  })
  return stored
}
