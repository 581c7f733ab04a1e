/** Answers in messages: approvals and tool results in the last assistant message, words and data in a user message. */
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Question } from '../../../core/model/event.ts'
import { questionToolCall } from '../../../core/structure/question-tool-call.ts'
import { isToolPart, textOf } from './messages.ts'
import type { UiMessage } from './shapes.ts'

export type Answers = Readonly<Record<string, unknown>>

/**
 * Part of a user message that answers a question that is not about a tool: `{ id, answer }`. `id` is optional if there is one
 * question.
 */
const ANSWER_PART = 'data-holdfast-answer'

/** Approvals and tool results in an assistant message, by approval and by call. */
export interface Resolutions {
  readonly approvals: ReadonlyMap<string, unknown>
  readonly results: ReadonlyMap<string, unknown>
}

export function resolutionsIn({ parts }: UiMessage): Resolutions {
  const approvals = new Map<string, unknown>()
  const results = new Map<string, unknown>()
  for (const part of parts.filter(isToolPart)) {
    const { toolCallId, approval, state, output, errorText, preliminary } = part
    if (approval?.approved !== undefined) {
      const { id, approved, reason } = approval
      approvals.set(id, approved && reason === undefined ? true : { approved, ...(reason !== undefined && { reason }) })
    }
    if (state === 'output-available' && preliminary !== true) results.set(toolCallId!, output ?? null)
    if (state === 'output-error') results.set(toolCallId!, { error: errorText ?? 'the call failed' })
  }
  return { approvals, results }
}

/** Answers all questions of a paused run, or none of them. */
export function answersFrom(run: string, waiting: readonly Question[], given: Resolutions): Answers | undefined {
  const answers: Record<string, unknown> = {}
  const missing: string[] = []
  for (const question of waiting) {
    const call = questionToolCall(run, question)
    const answer =
      question.kind === 'approval' ? given.approvals.get(question.id) : given.results.get(call?.toolCallId ?? '')
    if (answer === undefined) missing.push(question.prompt)
    else answers[question.id] = answer
  }
  if (missing.length === waiting.length) return undefined
  if (missing.length === 0) return answers
  throw new HoldfastError('invalid_request', `an answer is missing: ${missing.join('; ')}`.slice(0, MESSAGE_CHARS_MAX))
}

const MESSAGE_CHARS_MAX = 1000

/** Answers in a user message. Undefined if the run has no question that text can answer. */
export function answersInWords(run: string, waiting: readonly Question[], message: UiMessage): Answers | undefined {
  const given = message.parts.filter(({ type }) => type === ANSWER_PART)
  if (given.length > 0) return Object.fromEntries(given.map(({ data }) => explicitAnswer(waiting, data)))
  const [only, ...others] = waiting
  if (only === undefined || others.length > 0 || !SPOKEN.has(only.kind)) return undefined
  const text = textOf(message)
  return questionToolCall(run, only) !== undefined || text === '' ? undefined : { [only.id]: text }
}

const SPOKEN: ReadonlySet<Question['kind']> = new Set(['input', 'choice'])

function explicitAnswer(waiting: readonly Question[], data: unknown): readonly [string, unknown] {
  const { id, answer } = (data ?? {}) as { readonly id?: unknown; readonly answer?: unknown }
  const asked = id ?? (waiting.length === 1 ? waiting[0]!.id : undefined)
  if (typeof asked !== 'string' || answer === undefined)
    throw new HoldfastError('invalid_request', `${ANSWER_PART}: data must be { id, answer }, with the id of a question`)
  return [asked, answer]
}
