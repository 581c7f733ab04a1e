/** Answers of a person to the open questions of a run. */
import { isHoldfastError } from '../../../core/model/errors.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Service } from '../../../core/service.ts'
import { type ElicitationResult, keyOf, toAnswers } from '../view/elicitation.ts'

export interface Answer {
  readonly run: string
  /** Key of the set of questions that it answers. */
  readonly key: string
  readonly result: ElicitationResult
  /** A person who closed the form may answer later. Default: declining stops the run. */
  readonly mayAnswerLater?: boolean
}

/**
 * Returns whether the questions were open. Otherwise the answer is ignored: another one was faster, or the run asks other questions
 * now.
 */
export async function answerQuestions(
  service: Service,
  principal: Principal,
  { run: id, key, result, mayAnswerLater = false }: Answer,
): Promise<boolean> {
  const { run } = await service.get(principal, id)
  const { status, waiting = [] } = run
  if (status !== 'paused' || keyOf(waiting) !== key) return false
  if (result.action === 'cancel' && mayAnswerLater) return true
  const answers = toAnswers(waiting, result)
  if (answers === undefined) {
    await service.stop(principal, id, 'the user declined to answer')
    return true
  }
  try {
    await service.answer(principal, id, answers)
    return true
  } catch (cause) {
    if (isHoldfastError(cause, 'conflict')) return false
    throw cause
  }
}
