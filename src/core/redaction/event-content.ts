/** Lists which event fields are content. The other fields link events (ids, keys, names) and are never redacted. */
import type { Event, EventType, Failure, Question } from '../model/event.ts'
import { wrongField } from '../model/wrong-field.ts'

/** Types without content. */
const PLAIN: ReadonlySet<EventType> = new Set<EventType>([
  'run.started',
  'run.released',
  'attempt.discarded',
  'text.started',
  'text.completed',
  'reasoning.started',
  'reasoning.completed',
  'model.requested',
  'model.responded',
  'sleep.started',
])

const FIXED: ReadonlySet<string> = new Set([
  'append',
  'artifact',
  'by',
  'call',
  'component',
  'covers',
  'digest',
  'key',
  'kind',
  'last',
  'mediaType',
  'message',
  'name',
  'parent',
  'protocol',
  'session',
  'source',
  'step',
  'usage',
  'version',
  'within',
  'work',
])

const FIXED_OF_QUESTION = ['id', 'kind', 'actor', 'deadline'] as const satisfies readonly (keyof Question)[]

export function hasContent(type: EventType): boolean {
  return !PLAIN.has(type)
}

type Data = Readonly<Record<string, unknown>>

/** Applies a change to each content field of an event. */
export function mapContent(event: Event, change: (value: unknown) => unknown): Event {
  return withData(event, (field, was) => mapField(field, was, change))
}

/** The event that a hook returned, with all non-content fields restored; undefined if it is not an event of the same type. */
export function restoreFixed(event: Event, returned: unknown): Event | undefined {
  const { type, data } = fieldsOf(returned)
  if (type !== event.type || typeof data !== 'object' || data === null) return undefined
  const restored = withData(event, (field, was) => restoreField(field, was, (data as Data)[field]))
  return isWellFormed(restored) ? restored : undefined
}

function withData(event: Event, change: (field: string, was: unknown) => unknown): Event {
  const fields = Object.entries(event.data as Data).map(
    ([field, was]) => [field, isFixed(event.type, field) ? was : change(field, was)] as const,
  )
  const data: unknown = Object.fromEntries(fields.filter(([, value]) => value !== undefined))
  return { ...event, data } as Event
}

/** The name of an artifact is its title, which is content. */
function isFixed(type: EventType, field: string): boolean {
  return FIXED.has(field) && !(type === 'artifact.added' && field === 'name')
}

function mapField(field: string, was: unknown, change: (value: unknown) => unknown): unknown {
  const changed = change(was)
  if (field === 'answers')
    return Object.fromEntries(Object.entries(was as Data).map(([id, answer]) => [id, change(answer)]))
  return restoreField(field, was, changed)
}

function restoreField(field: string, was: unknown, now: unknown): unknown {
  switch (field) {
    case 'questions':
      return (was as readonly Question[]).map((question, at) => ({
        ...fieldsOf(fieldsOf(now)[at]),
        ...fixedOf(question),
      }))
    case 'answers':
      return Object.fromEntries(Object.keys(was as Data).map((id) => [id, fieldsOf(now)[id] ?? null]))
    case 'error':
      return { ...fieldsOf(now), code: (was as Failure).code }
    default:
      return now
  }
}

function fixedOf(question: Question): Partial<Question> {
  return Object.fromEntries(FIXED_OF_QUESTION.flatMap((field) => (field in question ? [[field, question[field]]] : [])))
}

function isWellFormed({ type, data }: Event): boolean {
  const { questions, error } = data as { questions?: readonly Question[]; error?: Failure }
  if (questions?.some(({ prompt }) => typeof prompt !== 'string')) return false
  if (error !== undefined && typeof error.message !== 'string') return false
  return wrongField(type, data) === undefined
}

function fieldsOf(value: unknown): Data {
  return (typeof value === 'object' && value !== null ? value : {}) as Data
}
