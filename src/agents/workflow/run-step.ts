/** Lifecycle of a step: confirmation, attempts, failure handling, review. */
import { createEvent, RejectedError, WorkError } from '../../core/ports/component.ts'
import type { Failure } from '../../core/model/event.ts'
import { failureOf } from '../../core/recovery/recorded-failure.ts'
import { attempt, type AttemptInput } from './attempt.ts'
import { RETRY_DELAY_MAX_MS, RETRY_DELAY_MS, RETRIES_BY_HAND_MAX, REVIEW_ROUNDS } from './bounds.ts'
import type { StepNode } from './definition.ts'
import { type QuestionContext, confirm, question, remedy, review } from './human-input.ts'
import { idIn, orAborted, type WorkflowPosition } from './position.ts'

/** A skipped step has no output; its input goes to the next step. */
export type StepOutcome = { readonly output: unknown } | { readonly skipped: true }

interface StepInProgress {
  readonly position: WorkflowPosition
  readonly node: StepNode
  readonly input: unknown
  readonly index: number
  readonly asker: QuestionContext
}

/** Failure code of a step that is not retried because another branch of its block failed. */
export const ABANDONED = 'abandoned'

export async function runStep(
  position: WorkflowPosition,
  node: StepNode,
  input: unknown,
  index: number,
): Promise<StepOutcome> {
  const { name, kind } = node
  const facts = { step: idIn(position, name), name, kind, index }
  const asker: QuestionContext = { context: position.context.within(name), signal: position.signal, facts }
  const doing: StepInProgress = { position, node, input, index, asker }
  if (node.confirm !== undefined) {
    const { onReject = 'skip', ...prompt } = asObject(node.confirm)
    const answer = await confirm(asker, prompt, input)
    if (!answer.approved && onReject === 'skip') return skip(doing, answer.reason ?? 'it was not confirmed')
    if (!answer.approved) throw rejectedFailure(facts.step, answer.reason ?? `step ${name} was not confirmed`)
  }
  const answer = node.question === undefined ? undefined : await question(asker, asObject(node.question), input)
  const human = answer === undefined ? {} : { answer }
  return node.review === undefined ? settle(doing, human, 1) : reviewed(doing, human)
}

/** Repeats the step until its output is accepted. */
async function reviewed(doing: StepInProgress, human: AttemptInput): Promise<StepOutcome> {
  const { node, asker } = doing
  const { rounds = REVIEW_ROUNDS, ...prompt } = asObject(node.review!)
  let feedback: string | undefined
  for (let round = 1; round <= rounds; round++) {
    const outcome = await settle(doing, { ...human, ...(feedback !== undefined && { feedback }) }, round)
    if ('skipped' in outcome) return outcome
    const result = await review(asker, prompt, { output: outcome.output ?? null, round, rounds })
    if (result.action === 'accept') return outcome
    if (result.action === 'edit') return { output: result.output }
    feedback = result.feedback ?? 'It was not accepted.'
  }
  throw rejectedFailure(
    asker.facts.step,
    `the output of step ${node.name} was rejected ${rounds} times; last feedback: ${feedback}`,
  )
}

/** Attempts the step and handles its failure as declared. */
async function settle(doing: StepInProgress, human: AttemptInput, round: number): Promise<StepOutcome> {
  const { node, asker } = doing
  const { onError = 'fail' } = node
  for (let time = 0; time <= RETRIES_BY_HAND_MAX; time++) {
    const result = await tryAll(doing, human, round)
    if ('output' in result) return result
    const { failure } = result
    const decided = onError === 'ask' ? await remedy(asker, failure) : onError
    if (decided === 'skip') return skip(doing, failure.message)
    if (decided === 'fail') throw new WorkError(withStep(failure, asker.facts.step))
  }
  throw rejectedFailure(asker.facts.step, `step ${node.name} failed after ${RETRIES_BY_HAND_MAX} manual retries`)
}

type StepSettlement = { readonly output: unknown } | { readonly failure: Failure }

async function tryAll(doing: StepInProgress, human: AttemptInput, round: number): Promise<StepSettlement> {
  const { position, node, input, index, asker } = doing
  const attempts = 1 + (node.retries ?? 0)
  for (let number = 1; ; number++) {
    position.signal.throwIfAborted()
    const details = {
      index,
      ...(attempts > 1 && { attempt: number, attempts }),
      ...(round > 1 && { round }),
      ...(typeof node.run !== 'function' && { component: node.run.id }),
    }
    const about = { kind: node.kind, details, ...(position.parent !== undefined && { parent: position.parent }) }
    const last = number >= attempts
    const retract = !last || node.onError === 'skip' || node.onError === 'ask'
    const own = asker.context.within('try')
    const result = await attempt(position, about, { node, input, human, own, retract })
    if ('output' in result) return result
    const failure = explain(position, result.thrown)
    if (last) return { failure }
    // Failures of an earlier execution have already waited.
    if (result.fresh) await orAborted(position.signal, own.sleep(wait(node, number)))
  }
}

/** Converts an attempt's error to a failure; rethrows errors that are not the step's to handle. */
function explain(position: WorkflowPosition, thrown: unknown): Failure {
  position.signal.throwIfAborted()
  if (thrown instanceof RejectedError) throw thrown
  const failure = failureOf(thrown)
  if (failure.code === ABANDONED) throw thrown
  return failure
}

function wait(
  { retryDelayMs = RETRY_DELAY_MS, maxRetryDelayMs = RETRY_DELAY_MAX_MS }: StepNode,
  failed: number,
): number {
  return Math.min(retryDelayMs * 2 ** (failed - 1), maxRetryDelayMs)
}

async function skip({ position, node, asker }: StepInProgress, reason: string): Promise<StepOutcome> {
  await position.emitEvent(createEvent('step.skipped', { step: asker.facts.step, name: node.name, reason }))
  return { skipped: true }
}

function rejectedFailure(step: string, message: string): WorkError {
  return new WorkError({ code: 'rejected', message, details: { step } })
}

/** Adds the step's id, unless the failure has one. */
function withStep(failure: Failure, step: string): Failure {
  return { ...failure, details: { step, ...(failure.details as object | undefined) } }
}

function asObject<Prompt>(prompt: string | Prompt): Prompt | (Partial<Prompt> & { readonly prompt: string }) {
  return typeof prompt === 'string' ? ({ prompt } as Partial<Prompt> & { readonly prompt: string }) : prompt
}
