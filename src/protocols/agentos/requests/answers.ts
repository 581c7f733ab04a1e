/** Converts AgentOS continue requests to answers. */
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Question } from '../../../core/model/event.ts'
import { parseJsonOrText } from '../../../http/request/json.ts'
import { type Fields, listField, textField } from './fields.ts'
import type { Family } from '../wire/families.ts'
import { ANSWER_FIELD, callOf, factsOf, propertiesOf } from '../wire/requirements.ts'

/** One decision, from any of the three formats. */
interface Resolution {
  /** Ids that may identify its question: of a call, a requirement or a step. */
  readonly ids: readonly unknown[]
  readonly confirmed: unknown
  readonly note: unknown
  readonly fields: unknown
  readonly feedback: unknown
  readonly result: unknown
  readonly choices: unknown
  readonly edited: unknown
  /** A complete answer, if the format has a field for it. */
  readonly answer: unknown
}

/** Answers all questions of a paused run. An unanswered approval counts as rejected; any other unanswered question is an error. */
export function answersFrom(
  questions: readonly Question[],
  family: Family,
  fields: Fields,
): Readonly<Record<string, unknown>> {
  const given = resolutionsOf(family, fields)
  const input = textField(fields, 'input')
  if (given === undefined && input === undefined)
    throw new HoldfastError('invalid_request', `${family.answerField} is required: the run waits for an answer`)
  return Object.fromEntries(
    questions.map((question) => [question.id, answerTo(question, find(question, given ?? []), input)]),
  )
}

function resolutionsOf(family: Family, fields: Fields): readonly Resolution[] | undefined {
  const list = listField(fields, family.answerField)
  if (list === undefined) return undefined
  switch (family.answerField) {
    case 'tools':
      return list.map(fromTool)
    case 'requirements':
      return list.map(fromRequirement)
    case 'step_requirements':
      return list.flatMap(fromStep)
  }
}

function fromTool(tool: Fields): Resolution {
  return {
    ids: [tool['tool_call_id']],
    confirmed: tool['confirmed'],
    note: tool['confirmation_note'],
    fields: tool['user_input_schema'],
    feedback: tool['user_feedback_schema'],
    result: tool['result'],
    choices: undefined,
    edited: undefined,
    answer: undefined,
  }
}

function fromRequirement(given: Fields): Resolution {
  const tool = fromTool((given['tool_execution'] ?? {}) as Fields)
  return {
    ...tool,
    ids: [given['id'], ...tool.ids],
    confirmed: given['confirmation'] ?? tool.confirmed,
    note: given['confirmation_note'] ?? tool.note,
    fields: isFilled(given['user_input_schema']) ? given['user_input_schema'] : tool.fields,
    feedback: given['user_feedback_schema'] ?? tool.feedback,
    result: given['external_execution_result'] ?? tool.result,
  }
}

/** A step's requirement contains those of its executor. */
function fromStep(given: Fields): Resolution[] {
  const inner = given['executor_requirements']
  if (Array.isArray(inner) && inner.length > 0) return (inner as Fields[]).map(fromRequirement)
  return [
    {
      ids: [given['id'], given['step_id']],
      confirmed: given['confirmed'],
      note: given['rejection_feedback'],
      fields: given['user_input_schema'],
      feedback: undefined,
      result: undefined,
      choices: given['selected_choices'],
      edited: given['edited_output'],
      answer: given['user_input'],
    },
  ]
}

function find(question: Question, given: readonly Resolution[]): Resolution | undefined {
  const known: readonly unknown[] = [question.id, callOf(question), factsOf(question)['step']]
  // Most specific id first: two questions of one step share the step's id.
  for (const id of known) {
    const found = id === undefined ? undefined : given.find(({ ids }) => ids.includes(id))
    if (found !== undefined) return found
  }
  return undefined
}

function answerTo(question: Question, given: Resolution | undefined, input: string | undefined): unknown {
  const answer = given === undefined ? undefined : toAnswer(question, given)
  if (answer !== undefined) return answer
  if (question.kind === 'approval') return { approved: false, reason: 'it was not confirmed' }
  if (question.kind === 'input' && input !== undefined) return input
  throw new HoldfastError('invalid_request', `an answer to ${callOf(question)} is missing: ${question.prompt}`)
}

function toAnswer(question: Question, given: Resolution): unknown {
  switch (question.kind) {
    case 'approval':
      return given.confirmed === true ? true : denial(given)
    case 'tool':
      return given.result === null || given.result === undefined ? undefined : resultFor(question, given.result)
    case 'review':
      return confirmationOf(given)
    case 'choice':
      return choice(question, given)
    default:
      return given.answer ?? valuesOf(question, given.fields)
  }
}

function denial({ note }: Resolution): object {
  return { approved: false, ...(typeof note === 'string' && note !== '' && { reason: note }) }
}

/** AgentOS sends results as strings. If the question's schema is not a string, parses JSON. */
function resultFor({ schema }: Question, result: unknown): unknown {
  const { type } = (schema ?? {}) as { type?: unknown }
  if (typeof result !== 'string' || type === undefined || type === 'string') return result
  return parseJsonOrText(result)
}

function confirmationOf({ confirmed, edited, note }: Resolution): object | undefined {
  if (edited !== undefined && edited !== null) return { action: 'edit', output: edited }
  if (confirmed === true) return { action: 'accept' }
  if (confirmed === false) return { action: 'reject', ...(typeof note === 'string' && { feedback: note }) }
  return undefined
}

function choice(question: Question, { choices, feedback, fields, answer }: Resolution): unknown {
  const [first] = Array.isArray(feedback) ? (feedback as Fields[]) : []
  const selected = choices ?? first?.['selected_options'] ?? answer ?? valuesOf(question, fields)
  if (!Array.isArray(selected)) return selected ?? undefined
  return factsOf(question)['multiple'] === true ? selected : selected[0]
}

function isFilled(fields: unknown): boolean {
  return Array.isArray(fields) && fields.some((field) => ((field as Fields)['value'] ?? undefined) !== undefined)
}

/** Form values: an object if the question asks for one, otherwise the single value. */
function valuesOf(question: Question, fields: unknown): unknown {
  if (!Array.isArray(fields) || !isFilled(fields)) return undefined
  const values = Object.fromEntries((fields as Fields[]).map((field) => [String(field['name']), field['value']]))
  if (propertiesOf(question) !== undefined) return values
  return values[ANSWER_FIELD] ?? Object.values(values)[0]
}
