/** Parses and validates messages of a child process: one JSON object per line. */
import type { AskOptions } from '../../core/ports/component.ts'
import { type Event, eventTable, type Failure, isEventType, type Usage } from '../../core/model/event.ts'

export type Message =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'event'; readonly event: Event }
  | { readonly type: 'ask'; readonly id: unknown; readonly question: AskOptions }
  | { readonly type: 'result'; readonly output?: unknown; readonly usage?: Usage }
  | { readonly type: 'error'; readonly failure: Failure }
  | { readonly type: 'reject'; readonly reason: string }

/** The line is not a valid message. */
export class MessageError extends Error {
  override readonly name = 'MessageError'
}

export function parseMessage(line: string): Message {
  const said = objectOf(line)
  const { type } = said
  if (type === undefined && typeof said.text === 'string') return { type: 'text', text: said.text }
  switch (type) {
    case 'ask':
      return { type, id: said.id ?? null, question: questionOf(said) }
    case 'result':
      return {
        type,
        ...(said.output !== undefined && { output: said.output }),
        ...(isObject(said.usage) && { usage: said.usage }),
      }
    case 'error':
      return { type, failure: failureOf(said) }
    case 'reject':
      return { type, reason: typeof said.reason === 'string' ? said.reason : 'the process refused the run' }
    default:
      return { type: 'event', event: eventOf(said) }
  }
}

function objectOf(line: string): Record<string, unknown> {
  let said: unknown
  try {
    said = JSON.parse(line)
  } catch {
    throw new MessageError(`the process wrote a line that is not JSON: ${shown(line)}`)
  }
  if (!isObject(said)) throw new MessageError(`the process wrote a line that is not a JSON object: ${shown(line)}`)
  return said
}

/** The run's outcome is not an event here: a process reports it with `result`, `error` or `reject`. */
function eventOf(said: Record<string, unknown>): Event {
  const { type, data } = said
  if (!isEventType(type) || !eventTable[type].agent || eventTable[type].effect !== 'content')
    throw new MessageError(`the process wrote a message of an unknown type: ${shown(JSON.stringify(said))}`)
  if (!isObject(data)) throw new MessageError(`the process wrote ${type} without \`data\``)
  return { type, data } as unknown as Event
}

const QUESTION_KINDS = ['input', 'approval', 'tool', 'choice', 'review'] as const

function questionOf({ prompt, kind, schema, details, timeoutMs }: Record<string, unknown>): AskOptions {
  if (typeof prompt !== 'string') throw new MessageError('the process asked without a `prompt`')
  const known = QUESTION_KINDS.find((name) => name === (kind ?? 'input'))
  if (known === undefined)
    throw new MessageError(`the process asked a question of unknown kind ${shown(JSON.stringify(kind))}`)
  return {
    prompt,
    kind: known,
    ...(schema !== undefined && { schema }),
    ...(details !== undefined && { details }),
    ...(typeof timeoutMs === 'number' && { timeoutMs }),
  }
}

function failureOf({ code, message, retryable, details }: Record<string, unknown>): Failure {
  return {
    code: typeof code === 'string' ? code : 'agent_failed',
    message: typeof message === 'string' ? message : 'the process failed',
    ...(typeof retryable === 'boolean' && { retryable }),
    ...(details !== undefined && { details }),
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const SHOWN_CHARS_MAX = 200

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text)
}
