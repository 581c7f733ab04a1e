/** Validates answers against the open questions of a run. */
import { checkJson } from '../schema/check-json.ts'
import { HoldfastError } from '../model/errors.ts'
import type { Question } from '../model/event.ts'
import type { Run } from '../model/run.ts'

export function validateAnswers(run: Run, answers: Readonly<Record<string, unknown>>): void {
  if (run.status !== 'paused')
    throw new HoldfastError('conflict', `run ${run.id} is ${run.status} and has no open question`)
  const { waiting = [] } = run
  const openIds = waiting.map(({ id }) => id)
  const unknown = Object.keys(answers).filter((id) => !openIds.includes(id))
  const missing = openIds.filter((id) => !Object.hasOwn(answers, id))
  if (unknown.length === 0 && missing.length === 0) return checkValues(run, waiting, answers)
  const closed = unknown.filter((id) => QUESTION_ID.test(id))
  if (closed.length > 0)
    throw new HoldfastError(
      'conflict',
      `question ${closed.join(', ')} is no longer open; run ${run.id} asks: ${openIds.join(', ')}`,
      { details: { questions: run.waiting } },
    )
  const problem =
    unknown.length > 0 ? `there is no question ${unknown.join(', ')}` : `an answer to ${missing.join(', ')} is missing`
  throw new HoldfastError('invalid_request', `${problem}; run ${run.id} asks: ${openIds.join(', ')}`, {
    details: { questions: run.waiting },
  })
}

/** Question ids are never reused. A question that is not open was answered, or replaced by a reworded one. */
const QUESTION_ID = /^(?:uncertain:.*|diverged(?:#\d+)?|(?:.*\/)?question(?:#\d+)?)$/

/** Checks that each answer is one that its question offers. Any other would have no effect, or an unintended one. */
function checkValues(run: Run, questions: readonly Question[], answers: Readonly<Record<string, unknown>>): void {
  for (const { id, schema, kind } of questions) {
    // An invalid tool result fails the call, and the model sees the failure.
    const issue = kind === 'tool' ? undefined : checkJson(schema, answers[id])
    if (issue === undefined) continue
    const { path, message } = issue
    const text = `the answer to ${id}${path === '' ? '' : `: ${path}`} ${message}`.slice(0, MESSAGE_CHARS_MAX)
    throw new HoldfastError('invalid_request', text, {
      details: { questions: run.waiting, issues: [{ ...issue, message: message.slice(0, MESSAGE_CHARS_MAX) }] },
    })
  }
}

const MESSAGE_CHARS_MAX = 1000
