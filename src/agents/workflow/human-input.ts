/** Questions of a workflow. Questions and answers are in the log, so any worker can continue with an answer. */
import { type AskOptions, type RunContext, WorkError } from '../../core/ports/component.ts'
import type { Failure } from '../../core/model/event.ts'
import { ASKED_AGAIN_MAX } from './bounds.ts'
import type { RouterChoice, StepConfirmation, StepReview, StepQuestion } from './definition.ts'
import { orAborted } from './position.ts'

/** The step or router that asks, with ledger keys for its questions. */
export interface QuestionContext {
  readonly context: RunContext
  readonly signal: AbortSignal
  /** Details that every question includes. */
  readonly facts: { readonly step: string; readonly name: string; readonly kind: string; readonly index: number }
}

export type Approval = { readonly approved: true } | { readonly approved: false; readonly reason?: string }

export function confirm(
  asker: QuestionContext,
  { prompt, timeoutMs }: StepConfirmation,
  input: unknown,
): Promise<Approval> {
  const schema = oneOf({ type: 'boolean' }, object({ approved: { type: 'boolean' }, reason: TEXT }, 'approved'))
  return decide(asker, { kind: 'approval', prompt, schema, ...limit(timeoutMs), details: { input } }, (answer) => {
    const { approved, reason } = fieldsOf(answer, 'approved')
    if (approved === true) return { approved }
    if (approved === false) return { approved, ...(typeof reason === 'string' && { reason }) }
    return undefined
  })
}

export function question(
  asker: QuestionContext,
  { prompt, schema, timeoutMs }: StepQuestion,
  input: unknown,
): Promise<unknown> {
  return ask(asker, { kind: 'input', prompt, ...(schema !== undefined && { schema }), ...limit(timeoutMs) }, { input })
}

export type ReviewResult =
  | { readonly action: 'accept' }
  | { readonly action: 'edit'; readonly output: unknown }
  | { readonly action: 'reject'; readonly feedback?: string }

export function review(
  asker: QuestionContext,
  { prompt, timeoutMs }: StepReview,
  details: object,
): Promise<ReviewResult> {
  const schema = oneOf(
    { enum: ['accept', 'reject'] },
    object({ action: { const: 'accept' } }, 'action'),
    object({ action: { const: 'edit' }, output: {} }, 'action', 'output'),
    object({ action: { const: 'reject' }, feedback: TEXT }, 'action'),
  )
  return decide(asker, { kind: 'review', prompt, schema, ...limit(timeoutMs), details }, (answer) => {
    const { action, output, feedback } = fieldsOf(answer, 'action')
    if (action === 'accept') return { action }
    if (action === 'edit' && output !== undefined) return { action, output }
    if (action === 'reject') return { action, ...(typeof feedback === 'string' && { feedback }) }
    return undefined
  })
}

/** Names of the chosen branches, in the order chosen. */
export function choose(
  asker: QuestionContext,
  { prompt, timeoutMs }: RouterChoice,
  details: { readonly choices: readonly string[]; readonly multiple: boolean; readonly input: unknown },
): Promise<readonly string[]> {
  const { choices, multiple } = details
  const one = { enum: choices }
  const schema = multiple ? { type: 'array', items: one, minItems: 1, uniqueItems: true } : one
  return decide(asker, { kind: 'choice', prompt, schema, ...limit(timeoutMs), details }, (answer) => {
    const chosen: unknown[] = Array.isArray(answer) ? answer : [answer]
    return isSelection(chosen, choices, multiple) ? chosen : undefined
  })
}

/** Names of choices: one, or with `multiple` one or more, each once. */
export function isSelection(
  chosen: readonly unknown[],
  choices: readonly string[],
  multiple: boolean,
): chosen is string[] {
  if (chosen.length === 0 || (chosen.length > 1 && !multiple)) return false
  return chosen.every((name, at) => choices.includes(name as string) && chosen.indexOf(name) === at)
}

export type Remedy = 'retry' | 'skip' | 'fail'

export function remedy(asker: QuestionContext, error: Failure): Promise<Remedy> {
  const actions: readonly Remedy[] = ['retry', 'skip', 'fail']
  const schema = oneOf({ enum: actions }, object({ action: { enum: actions } }, 'action'))
  const prompt = `Step ${asker.facts.name} failed: ${error.message}. Try it again, skip it, or fail?`
  return decide(asker, { kind: 'choice', prompt, schema, details: { error, choices: actions } }, (answer) =>
    actions.find((action) => action === fieldsOf(answer, 'action').action),
  )
}

/**
 * Asks until the answer is valid, up to a limit: runs of earlier versions may have logged answers that do not match the schema.
 */
async function decide<Decision>(
  asker: QuestionContext,
  { details, ...options }: AskOptions,
  understand: (answer: unknown) => Decision | undefined,
): Promise<Decision> {
  const { prompt } = options
  for (let time = 0; time <= ASKED_AGAIN_MAX; time++) {
    const again = time === 0 ? prompt : `${prompt} (The last answer was none that this question has; see its schema.)`
    const decision = understand(await ask(asker, { ...options, prompt: again }, details as object))
    if (decision !== undefined) return decision
  }
  throw new WorkError({
    code: 'invalid_answer',
    message: `no valid answer to ${JSON.stringify(prompt)} was received`,
  })
}

function ask({ context, signal, facts }: QuestionContext, options: AskOptions, details: object): Promise<unknown> {
  return orAborted(signal, context.ask({ ...options, details: { ...facts, ...details } }))
}

type Fields = Readonly<Record<string, unknown>>

/** The fields of an answer; a bare value is wrapped as the main field. */
function fieldsOf(answer: unknown, field: string): Fields {
  return typeof answer === 'object' && answer !== null ? (answer as Fields) : { [field]: answer }
}

const TEXT = { type: 'string' }

function oneOf(...schemas: readonly object[]): object {
  return { oneOf: schemas }
}

function object(properties: object, ...required: readonly string[]): object {
  return { type: 'object', properties, required }
}

function limit(timeoutMs: number | undefined): { readonly timeoutMs?: number } {
  return timeoutMs === undefined ? {} : { timeoutMs }
}
