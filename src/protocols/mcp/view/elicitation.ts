/**
 * Open questions as one elicitation, because a run is answered as a whole. Forms of this protocol are flat: a question with a nested
 * schema gets a text field for JSON.
 */
import { isObject } from '../../../core/model/is-object.ts'
import type { Question } from '../../../core/model/event.ts'
import { checkJson } from '../../../core/schema/check-json.ts'
import { parseJsonOrText } from '../../../http/request/json.ts'

export interface Elicitation {
  readonly method: 'elicitation/create'
  readonly params: {
    readonly mode: 'form'
    readonly message: string
    readonly requestedSchema: {
      readonly type: 'object'
      readonly properties: Readonly<Record<string, object>>
      readonly required: readonly string[]
    }
  }
}

export interface ElicitationResult {
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly content?: Readonly<Record<string, unknown>> | undefined
}

export type Answers = Readonly<Record<string, unknown>>

/** Identifies a set of open questions. Question ids are never reused, so neither are these. */
export function keyOf(questions: readonly Question[]): string {
  return questions.map(({ id }) => id).join(' ')
}

export function toElicitation(questions: readonly Question[]): Elicitation {
  const forms = questions.map((question, at) => ({ question, form: formOf(question), prefix: prefixOf(questions, at) }))
  return {
    method: 'elicitation/create',
    params: {
      mode: 'form',
      message: questions.map(({ prompt }) => prompt).join('\n\n'),
      requestedSchema: {
        type: 'object',
        properties: Object.fromEntries(
          forms.flatMap(({ question, form, prefix }) =>
            Object.entries(form.fields).map(([name, field]) => [
              prefix + name,
              prefix === '' ? field : { description: question.prompt, ...field },
            ]),
          ),
        ),
        required: forms.flatMap(({ form, prefix }) => form.required.map((name) => prefix + name)),
      },
    },
  }
}

/** Undefined if the user declined and a question has no answer for that. */
export function toAnswers(
  questions: readonly Question[],
  { action, content = {} }: ElicitationResult,
): Answers | undefined {
  const answers = questions.map((question, at) => {
    if (action !== 'accept') return refusalOf(question)
    const prefix = prefixOf(questions, at)
    const { fields, toAnswer } = formOf(question)
    const given = Object.keys(fields).flatMap((name) =>
      Object.hasOwn(content, prefix + name) ? [[name, content[prefix + name]] as const] : [],
    )
    return { answer: toAnswer(Object.fromEntries(given)) }
  })
  if (answers.includes(undefined)) return undefined
  return Object.fromEntries(questions.map(({ id }, at) => [id, answers[at]!.answer]))
}

/** Prefix that separates the fields of several questions in one form. */
function prefixOf(questions: readonly Question[], at: number): string {
  return questions.length === 1 ? '' : `question${at + 1}_`
}

function refusalOf({ kind, schema }: Question): { readonly answer: unknown } | undefined {
  if (kind === 'approval') return { answer: decision(schema, { approved: false, reason: 'declined by the user' }) }
  if (kind === 'tool') return { answer: { error: 'declined by the user' } }
  return undefined
}

interface Form {
  readonly fields: Readonly<Record<string, object>>
  readonly required: readonly string[]
  readonly toAnswer: (content: Readonly<Record<string, unknown>>) => unknown
}

function formOf({ kind, schema, details }: Question): Form {
  if (kind === 'approval') return approvalForm(schema)
  const flat = kind === 'tool' ? undefined : flatForm(schema)
  if (flat !== undefined) return flat
  const single = kind === 'tool' ? undefined : primitiveOf(schema)
  if (single !== undefined) return answerForm(single, (value) => value)
  if (schema === undefined && kind !== 'tool') return answerForm({ type: 'string' }, (value) => value)
  const about = kind === 'tool' ? `The result of ${JSON.stringify(details ?? {})}` : `Fits ${JSON.stringify(schema)}`
  return answerForm({ type: 'string', description: `JSON. ${about}`.slice(0, DESCRIPTION_CHARS_MAX) }, (value) =>
    typeof value === 'string' ? parseJsonOrText(value) : value,
  )
}

const DESCRIPTION_CHARS_MAX = 2000

function answerForm(field: object, toAnswer: (value: unknown) => unknown): Form {
  return { fields: { answer: field }, required: ['answer'], toAnswer: ({ answer }) => toAnswer(answer) }
}

function approvalForm(schema: unknown): Form {
  return {
    fields: { approved: { type: 'boolean' }, reason: { type: 'string' } },
    required: ['approved'],
    toAnswer: ({ approved, reason }) =>
      decision(schema, { approved: approved === true, ...(typeof reason === 'string' && reason !== '' && { reason }) }),
  }
}

/** Some components accept only yes or no. */
function decision(schema: unknown, answer: { readonly approved: boolean; readonly reason?: string }): unknown {
  return checkJson(schema, answer) !== undefined && checkJson(schema, answer.approved) === undefined
    ? answer.approved
    : answer
}

/** The form of an object whose fields are all primitive; undefined for others. */
function flatForm(schema: unknown): Form | undefined {
  if (!isObject(schema) || schema['type'] !== 'object' || !isObject(schema['properties'])) return undefined
  const fields = Object.entries(schema['properties']).map(([name, field]) => [name, primitiveOf(field)] as const)
  if (fields.length === 0 || fields.some(([, field]) => field === undefined)) return undefined
  const required = Array.isArray(schema['required']) ? (schema['required'] as string[]) : []
  return { fields: Object.fromEntries(fields) as Record<string, object>, required, toAnswer: (content) => content }
}

const PRIMITIVES = new Set(['string', 'number', 'integer', 'boolean'])
const KEYWORDS = new Set([
  'type',
  'title',
  'description',
  'default',
  'enum',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
])
const FORMATS = new Set(['email', 'uri', 'date', 'date-time'])

/** The parts of a schema that forms support. */
function primitiveOf(schema: unknown): object | undefined {
  if (!isObject(schema)) return undefined
  const { enum: values, format } = schema
  const isChoice = Array.isArray(values) && values.every((value) => typeof value === 'string')
  const type = schema['type'] ?? (isChoice ? 'string' : undefined)
  if (typeof type !== 'string' || !PRIMITIVES.has(type) || (values !== undefined && !isChoice)) return undefined
  return {
    ...Object.fromEntries(Object.entries(schema).filter(([name]) => KEYWORDS.has(name))),
    type,
    ...(typeof format === 'string' && FORMATS.has(format) && { format }),
  }
}
