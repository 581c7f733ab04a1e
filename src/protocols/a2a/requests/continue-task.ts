/** Continues a waiting task: a message with its id answers its question. */
import { isHoldfastError } from '../../../core/model/errors.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Run } from '../../../core/model/run.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import type { Service } from '../../../core/service.ts'
import { a2aError, invalidParams } from '../wire/errors.ts'
import { answerOf } from './messages.ts'
import type { StreamStart } from '../view/stream-start.ts'
import { stateOf, taskStates } from '../view/states.ts'
import { answeredBy, answersOf, noteTurn } from './answered-messages.ts'
import type { Message } from '../wire/wire.ts'

export interface ContinuedTask {
  readonly stored: StoredRun
  /** Position of the answer in the log. */
  readonly start: StreamStart
  /** Messages that answered the task's questions so far. */
  readonly answers: ReadonlyMap<string, Message>
}

/** With `once`, a message answers at most one question. */
export async function continueTask(
  service: Service,
  principal: Principal,
  stored: StoredRun,
  message: Message,
  once: boolean,
): Promise<ContinuedTask> {
  const { run, next } = stored
  const { id, session, waiting = [] } = run
  if ((message.contextId ?? '') !== '' && message.contextId !== session)
    throw invalidParams(`task ${id} belongs to another context`, [
      { field: 'message.contextId', description: 'does not match taskId' },
    ])
  const documents = service.documents(principal)
  const before = await answersOf(documents, id)
  const known = once ? answeredBy(before, message) : undefined
  if (known !== undefined && !waiting.some((question) => question.id === known))
    return { stored, start: { kind: 'answer', question: known, from: 0 }, answers: before }
  const [question] = waiting
  if (question === undefined) throw notWaiting(run)
  await noteTurn(documents, id, question.id, message)
  await answer(service, principal, run, message)
  const start = { kind: 'answer', question: question.id, from: next } as const
  return { stored, start, answers: new Map([...before, [question.id, message]]) }
}

/** One message answers all open questions: by id in a data part, or all with the same answer. */
async function answer(service: Service, principal: Principal, run: Run, message: Message): Promise<void> {
  const same = Object.fromEntries((run.waiting ?? []).map((question) => [question.id, answerOf(question, message)]))
  try {
    await service.answer(principal, run.id, answersIn(message) ?? same)
  } catch (cause) {
    if (isHoldfastError(cause, 'conflict')) throw notWaiting(run)
    throw cause
  }
}

function answersIn({ parts }: Message): Readonly<Record<string, unknown>> | undefined {
  for (const { data } of parts) {
    const answers = (data as { answers?: unknown } | null | undefined)?.answers
    if (typeof answers === 'object' && answers !== null) return answers as Record<string, unknown>
  }
  return undefined
}

function notWaiting(run: Run): Error {
  const state = stateOf(run)
  const why = taskStates[state].terminal ? 'it has ended' : 'it is not waiting for a message'
  return a2aError('UNSUPPORTED_OPERATION', `task ${run.id} is ${state}: ${why}`, { taskId: run.id, state })
}
