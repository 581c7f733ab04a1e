/** Results of the caller's tools: they answer a paused run, which continues with the next part of its response. */
import { HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import type { Question } from '../../../core/model/event.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Projection } from '../../../core/ports/projection.ts'
import type { Service } from '../../../core/service.ts'
import { parseJsonOrText } from '../../../http/request/json.ts'
import { foldRun } from '../../../http/response/view.ts'
import { callerCall } from '../view/reply.ts'
import { type Part, parseCallId } from '../wire/ids.ts'
import type { Requester } from './request.ts'

export interface CallerResult {
  readonly callId: string
  readonly output: string
}

/** A pause for the caller's tools, with its answers. */
interface Exchange {
  readonly questions: readonly Question[]
  readonly answers?: Readonly<Record<string, unknown>>
}

/**
 * The part of the run that the results continue. Repeated results return the same part. Undefined if the calls were not made here and
 * are just conversation history.
 */
export async function continueWith(
  service: Service,
  call: Requester,
  results: readonly CallerResult[],
): Promise<Part | undefined> {
  const run = runOf(results)
  if (run === undefined) return undefined
  const exchanges = await exchangesOf(service, call.principal, run)
  const found = exchanges?.findIndex(({ questions }) => isQuestionFor(run, questions, results[0]!.callId)) ?? -1
  if (found < 0) return undefined
  const { questions, answers: known } = exchanges![found]!
  const answers = answersTo(run, questions, results)
  if (known === undefined) await answer(service, call, run, answers, found)
  else if (!isSame(known, answers)) throw answeredOtherwise(run)
  return { run, number: found + 1 }
}

/** Handles concurrent duplicates: the second request finds the run already answered. */
async function answer(
  service: Service,
  { principal, signal }: Requester,
  run: string,
  answers: Readonly<Record<string, unknown>>,
  exchange: number,
): Promise<void> {
  try {
    await service.answer(principal, run, answers)
  } catch (cause) {
    if (!isHoldfastError(cause, 'conflict')) throw cause
    const look = async (): Promise<Exchange['answers']> =>
      (await exchangesOf(service, principal, run))?.[exchange]?.answers
    const { next } = await service.get(principal, run)
    let known = await look()
    if (known === undefined) {
      await service.waitForMore(principal, run, next - 1, service.limits.longPollTimeoutMs, signal)
      known = await look()
    }
    if (known === undefined || !isSame(known, answers)) throw cause
  }
}

function runOf(results: readonly CallerResult[]): string | undefined {
  const runs = new Set(results.map(({ callId }) => parseCallId(callId)?.run))
  const [run, another] = runs
  return another === undefined && runs.size === 1 ? run : undefined
}

async function exchangesOf(
  service: Service,
  principal: Principal,
  run: string,
): Promise<readonly Exchange[] | undefined> {
  try {
    return await foldRun(service, principal, run, exchangesProjection, { isLookup: true })
  } catch (cause) {
    if (isHoldfastError(cause, 'not_found')) return undefined
    throw cause
  }
}

const exchangesProjection: Projection<readonly Exchange[], never> = {
  initial: () => [],
  apply(state, event) {
    const last = state.at(-1)
    const isOpen = last !== undefined && last.answers === undefined
    if (event.type === 'run.paused') {
      const { questions } = event.data
      if (!questions.every((question) => callerCall(event.run, question) !== undefined)) return { state, frames: [] }
      return { state: [...(isOpen ? state.slice(0, -1) : state), { questions }], frames: [] }
    }
    if (event.type !== 'run.resumed' || !isOpen) return { state, frames: [] }
    return { state: [...state.slice(0, -1), { ...last, answers: event.data.answers }], frames: [] }
  },
}

function isQuestionFor(run: string, questions: readonly Question[], callId: string): boolean {
  return questions.some((question) => callerCall(run, question)?.id === callId)
}

/** The service rejects missing and extra answers. */
function answersTo(
  run: string,
  questions: readonly Question[],
  results: readonly CallerResult[],
): Record<string, unknown> {
  const answers = results.map(({ callId, output }) => {
    const question = questions.find((each) => callerCall(run, each)?.id === callId)
    return [question?.id ?? callId, question?.schema === undefined ? output : parseOutput(output)] as const
  })
  return Object.fromEntries(answers)
}

/** Parses a result as JSON for questions with a schema; the API only has text. */
function parseOutput(output: string): unknown {
  return parseJsonOrText(output)
}

function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right)
}

function answeredOtherwise(run: string): HoldfastError {
  return new HoldfastError('idempotency_conflict', `the tool calls of run ${run} already have different results`)
}
