/** `/continue`: answers the questions of a paused run, or continues a finished one as another run. */
import type { Component } from '../../../core/ports/component.ts'
import { inputFor, type Message } from '../../../core/schema/conversation.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import { isFinished, type Run, type RunStatus } from '../../../core/model/run.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import { readForm } from '../../../http/request/form.ts'
import type { Call } from '../../../http/routing/route.ts'
import type { AgentOs } from '../requests/agent-os.ts'
import { answersFrom } from '../requests/answers.ts'
import { type Continuation, continuationOf, keptCount } from '../requests/continuation.ts'
import { type Fields, nameField } from '../requests/fields.ts'
import { modesOf } from '../requests/input.ts'
import { conversationOf } from '../view/messages.ts'
import { isRunOf } from '../view/session-runs.ts'
import { rootOf } from '../view/state.ts'
import type { Family } from '../wire/families.ts'
import { ownMetadata, shownRunId } from '../wire/run-id.ts'
import { respondRun } from './respond-run.ts'

export async function continueRun(call: Call, os: AgentOs, family: Family): Promise<void> {
  const { service } = os
  const component = os.component(family, call)
  const { fields } = await readForm(call.request, service.limits.maxBodyBytes)
  const session = nameField(fields, 'session_id', service.limits.maxNameChars)
  if (session === undefined && family.kind !== 'workflow')
    throw new HoldfastError('invalid_request', 'session_id is required for this action')
  const modes = modesOf(fields)
  const wishes = continuationOf(fields)
  const stored = await runToContinue(call, os, component, session)
  const { run, next } = stored
  const since = run.status === 'paused' || isAsking(wishes, family, fields) ? undefined : await resumedAt(call, os, run)
  if (since !== undefined) return respondRun(call, os, component, stored, modes, since)
  if (isFinished(run.status) || wishes.fork) {
    const again = await branchOff(call, os, component, { run, session: session ?? run.session, wishes })
    return respondRun(call, os, component, again, modes, 0)
  }
  if (run.status !== 'paused') throw new HoldfastError('conflict', NOT_PAUSED[run.status])
  if (wishes.regenerate || wishes.from !== 'end')
    throw new HoldfastError(
      'conflict',
      'run is paused: the log of a run never changes, so continue_from needs fork=true',
    )
  if (session !== undefined && run.session !== session)
    throw new HoldfastError('conflict', `run is paused: answer it in the session that started it, ${run.session}`)
  const continued = await service.answer(call.principal, run.id, answersFrom(run.waiting ?? [], family, fields))
  await respondRun(call, os, component, continued, modes, next)
}

/** Whether the request answers questions or wants another run. */
function isAsking({ from, fork, regenerate, text }: Continuation, { answerField }: Family, fields: Fields): boolean {
  return from !== 'end' || fork || regenerate || text !== undefined || fields[answerField] !== undefined
}

/** Where a run went on whose questions somebody else answered, as by `/approvals`. */
async function resumedAt({ principal }: Call, os: AgentOs, { id }: Run): Promise<number | undefined> {
  return (await os.fold(principal, id, { isLookup: true })).resumedAt
}

/** A run of the session, or of the sessions that it was forked from. */
async function runToContinue(
  { principal, params }: Call,
  os: AgentOs,
  component: Component,
  session: string | undefined,
): Promise<StoredRun> {
  const id = params['run']!
  const own = await os.findRun(principal, component.id, id, session)
  if (own !== undefined) return own
  const stored = session === undefined ? undefined : await os.findRun(principal, component.id, id, undefined)
  if (stored !== undefined && (await isRunOf(os, principal, session!, stored.run))) return stored
  throw new HoldfastError('not_found', 'Run not found')
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

interface BranchRequest {
  readonly run: Run
  /** Id of the new run. */
  readonly session: string
  readonly wishes: Continuation
}

/** Logs are immutable, so continuing a run starts another run whose input contains the kept messages. */
async function branchOff(
  call: Call,
  os: AgentOs,
  component: Component,
  { run, session, wishes }: BranchRequest,
): Promise<StoredRun> {
  const isNothingAsked = wishes.from === 'end' && !wishes.regenerate && !wishes.fork && wishes.text === undefined
  if (isNothingAsked) throw new HoldfastError('conflict', NOT_PAUSED[run.status])
  const messages = conversationOf(rootOf(await os.fold(call.principal, run.id, { isLookup: true })))
  const count = keptCount(wishes, messages)
  const added: Message[] = wishes.text === undefined ? [] : [{ role: 'user', content: wishes.text }]
  const told = [...messages.slice(0, count).map((message) => message.told), ...added]
  if (told.length === 0 || told.at(-1)!.role === 'assistant')
    throw new HoldfastError('conflict', `${NOT_PAUSED[run.status]}: send an input, or regenerate=true`)
  const input = await inputFor(component, { messages: told, caller: {}, continues: true })
  // A component that accepts no conversations gets the earlier messages from its session.
  const isFollowUp = wishes.from === 'end' && !wishes.regenerate && !isConversation(input)
  const { agentos: _agentos, ...metadata } = run.metadata ?? {}
  const { run_id: _runId, ...own } = ownMetadata(run.metadata)
  const source = shownRunId(run)
  const lineage = {
    forked_from_run_id: source,
    forked_from_message_index: count,
    ...(wishes.regenerate && { regenerated_from: source }),
  }
  const { stored } = await os.service.start(call.principal, {
    component: run.component,
    input,
    session,
    protocol: 'agentos',
    metadata: { ...metadata, agentos: { ...own, ...lineage } },
    ...(!isFollowUp && {
      branch: {
        from: run.id,
        before: run.branch?.before ?? { createdAt: run.createdAt, id: run.id },
        ...(wishes.replaces && { replaces: true }),
      },
    }),
  })
  return stored
}

function isConversation(input: unknown): boolean {
  return typeof input === 'object' && input !== null && 'messages' in input
}
