/** Starts a run, answers a paused run, or attaches to a known run. */
import { questionToolCall } from '../../../core/structure/question-tool-call.ts'
import { inputFor } from '../../../core/schema/conversation.ts'
import { HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import type { Question } from '../../../core/model/event.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Component } from '../../../core/ports/component.ts'
import { jsonBytes } from '../../../http/response/respond.ts'
import { isMessageOf, parseInterruptId, parseCallId, toCallId, toInterruptId } from '../wire/ids.ts'
import { attach, type AttachedStream } from './attach.ts'
import { callerOptionsOf, invalid, newMessages, parsed, textOf, toMessages } from './messages.ts'
import type { GivenMessage, ResumeEntry, RunBody } from './shapes.ts'
import { startKey, type Threads } from './threads.ts'

export interface SendRequest {
  readonly principal: Principal
  readonly component: Component
  readonly body: RunBody
}

/** Maximum size of what a client passes to the agent besides messages. It is part of the run's metadata. */
const EXTRAS_BYTES_MAX = 32 * 1024

export async function send(threads: Threads, request: SendRequest): Promise<AttachedStream> {
  const { principal, component, body } = request
  const known = await threads.started(principal, component, body)
  if (known !== undefined) return attach(threads, known, body)
  const { resume = [] } = body
  if (resume.length > 0) return continueRun(threads, request, runOf(resume), answersIn(resume))
  const results = resultsIn(body.messages)
  const [first] = results.keys()
  const asking = first === undefined ? undefined : parseCallId(first)
  if (asking !== undefined) return continueRun(threads, request, asking.run, resultAnswers(results))
  return start(threads, request)
}

async function start(threads: Threads, { principal, component, body }: SendRequest): Promise<AttachedStream> {
  const { threadId: session, runId } = body
  try {
    const { stored } = await threads.service.start(principal, {
      component: component.id,
      input: await inputOf(threads, { principal, component, body }),
      session,
      protocol: 'ag-ui',
      follows: true,
      metadata: { agUi: { runId, messages: idsOf(body), ...extrasIn(body) } },
      idempotencyKey: startKey(component, body),
    })
    return { view: threads.view(stored), run: stored.run.id, session, runId, earlier: body.messages }
  } catch (cause) {
    // The client was disconnected while its first request was handled, and retried with the messages it has by now.
    const known = isHoldfastError(cause, 'idempotency_conflict')
      ? await threads.started(principal, component, body)
      : undefined
    if (known === undefined) throw cause
    return attach(threads, known, body)
  }
}

/** Sends only new messages if the session has the earlier ones; otherwise all of them. */
async function inputOf(threads: Threads, { principal, component, body }: SendRequest): Promise<unknown> {
  const isKnown = await threads.exists(principal, body.threadId)
  const messages = toMessages(isKnown ? newMessages(body.messages) : body.messages)
  return inputFor(component, { messages, caller: callerOptionsOf(body), ...(isKnown && { continues: true }) })
}

/** Ids of new user messages, so that other clients show them under the same ids. */
function idsOf({ messages }: RunBody): readonly string[] {
  return newMessages(messages).flatMap(({ id, role }) => (role === 'user' ? [id] : []))
}

function extrasIn({ state, forwardedProps }: RunBody): object {
  const extras = {
    ...(isPresent(state) && { state }),
    ...(isPresent(forwardedProps) && { forwardedProps }),
  }
  if (jsonBytes(extras) <= EXTRAS_BYTES_MAX) return extras
  throw new HoldfastError('too_large', `state and forwardedProps have more than ${EXTRAS_BYTES_MAX} bytes`)
}

/** Clients send an empty object if they have none. */
function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null && (typeof value !== 'object' || Object.keys(value).length > 0)
}

/** Finds the answer to a question by its AG-UI id. */
type AnswerLookup = (run: string, question: Question) => { readonly answer: unknown } | undefined

function runOf(resume: readonly ResumeEntry[]): string {
  const runs = new Set(resume.map(({ interruptId }) => parseInterruptId(interruptId)?.run))
  const [run] = runs
  if (run !== undefined && runs.size === 1) return run
  throw invalid('resume: interruptId must be the id of an interrupt of one run')
}

function answersIn(resume: readonly ResumeEntry[]): AnswerLookup {
  const entries = new Map(resume.map((entry) => [entry.interruptId, entry]))
  return (run, { id, kind }) => {
    const entry = entries.get(toInterruptId(run, id))
    if (entry === undefined) return undefined
    if (entry.status === 'cancelled') return { answer: cancelled(kind) }
    return { answer: entry.payload ?? (kind === 'approval' ? true : null) }
  }
}

/** The answer that stands for a cancelled question. Only approvals and tools have one. */
function cancelled(kind: Question['kind']): unknown {
  if (kind === 'approval') return { approved: false, reason: 'cancelled by the user' }
  if (kind === 'tool') return { error: 'cancelled by the user' }
  throw invalid(`resume: a question of the kind ${kind} cannot be cancelled; answer it, or stop the run`)
}

/** Results of tools that the client executed, at the end of its messages. */
function resultsIn(messages: readonly GivenMessage[]): ReadonlyMap<string, GivenMessage> {
  const last = messages.findLastIndex(({ role }) => role !== 'tool')
  return new Map(messages.slice(last + 1).map((message) => [message.toolCallId ?? '', message]))
}

function resultAnswers(results: ReadonlyMap<string, GivenMessage>): AnswerLookup {
  return (run, question) => {
    const call = questionToolCall(run, question)
    const result = call === undefined ? undefined : results.get(toCallId(run, call.toolCallId))
    if (result === undefined) return undefined
    return { answer: result.error === undefined ? parsed(textOf(result)) : { error: result.error } }
  }
}

/** A repeated answer gets the stream that followed the first one. */
async function continueRun(
  threads: Threads,
  { principal, component, body }: SendRequest,
  id: string,
  given: AnswerLookup,
): Promise<AttachedStream> {
  const stored = await threads.run(principal, component, id)
  if (stored.run.session !== body.threadId) throw new HoldfastError('not_found', `run ${id} not found in this thread`)
  const view = threads.view(stored)
  const { state, index } = await view.current(stored.next)
  const answers = Object.fromEntries(
    state.waiting.flatMap((question) => {
      const found = given(id, question)
      return found === undefined ? [] : [[question.id, found.answer] as const]
    }),
  )
  if (Object.keys(answers).length === 0) {
    if (state.waiting.length === 0 && state.answered.size > 0) return attach(threads, stored, body)
    throw new HoldfastError(
      'conflict',
      'the request does not answer an open question: attach to the run to see what it asks',
    )
  }
  try {
    await threads.service.answer(principal, id, answers)
  } catch (cause) {
    // If two clients answer concurrently, both follow the first answer.
    const now = await threads.run(principal, component, id)
    if (!isHoldfastError(cause, 'conflict') || (await threads.state(now)).state.leg === state.leg) throw cause
  }
  return {
    view,
    run: id,
    session: stored.run.session,
    runId: body.runId,
    earlier: body.messages.filter((message) => !isMessageOf(id, message.id)),
    results: new Set(resultsIn(body.messages).keys()),
    from: view.nearest({ event: index + 1 }),
    leg: state.leg + 1,
  }
}
