/** Whether answers fit the questions that a run waits with. */
import { HoldfastError } from './errors.ts'
import type { Run } from './run.ts'

export function checkAnswers(run: Run, answers: Readonly<Record<string, unknown>>): void {
  if (run.status !== 'paused')
    throw new HoldfastError('conflict', `run ${run.id} is ${run.status}; it waits for nothing`)
  const asked = (run.waiting ?? []).map(({ id }) => id)
  const unknown = Object.keys(answers).filter((id) => !asked.includes(id))
  const missing = asked.filter((id) => !Object.hasOwn(answers, id))
  if (unknown.length === 0 && missing.length === 0) return
  const problem =
    unknown.length > 0 ? `there is no question ${unknown.join(', ')}` : `an answer to ${missing.join(', ')} is missing`
  throw new HoldfastError('invalid_request', `${problem}; run ${run.id} asks: ${asked.join(', ')}`, {
    details: { questions: run.waiting },
  })
}
