/** Parses and validates messages of a child process: one JSON object per line. */
import { isObject } from '../../core/model/is-object.ts'
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
  const message = objectOf(line)
  const { type } = message
  if (type === undefined && typeof message.text === 'string') return { type: 'text', text: message.text }
  switch (type) {
    case 'ask':
      return { type, id: message.id ?? null, question: questionOf(message) }
    case 'result':
      return {
        type,
        ...(message.output !== undefined && { output: message.output }),
        ...(isObject(message.usage) && { usage: message.usage }),
      }
    case 'error':
      return { type, failure: failureOf(message) }
    case 'reject':
      return { type, reason: typeof message.reason === 'string' ? message.reason : 'the process refused the run' }
    default:
      return { type: 'event', event: eventOf(message) }
  }
}

function objectOf(line: string): Record<string, unknown> {
  let message: unknown
  try {
    message = JSON.parse(line)
  } catch (cause) {
    throw new MessageError(`the process wrote a line that is not JSON: ${preview(line)}`, { cause })
  }
  if (!isObject(message)) throw new MessageError(`the process wrote a line that is not a JSON object: ${preview(line)}`)
  return message
}

/** The run's outcome is not an event here: a process reports it with `result`, `error` or `reject`. */
function eventOf(message: Record<string, unknown>): Event {
  const { type, data } = message
  if (!isEventType(type) || !eventTable[type].agent || eventTable[type].effect !== 'content')
    throw new MessageError(`the process wrote a message of an unknown type: ${preview(JSON.stringify(message))}`)
  if (!isObject(data)) throw new MessageError(`the process wrote ${type} without \`data\``)
  return { type, data } as unknown as Event
}

const QUESTION_KINDS = ['input', 'approval', 'tool', 'choice', 'review'] as const

function questionOf({ prompt, kind, schema, details, timeoutMs }: Record<string, unknown>): AskOptions {
  if (typeof prompt !== 'string') throw new MessageError('the process asked without a `prompt`')
  const known = QUESTION_KINDS.find((name) => name === (kind ?? 'input'))
  if (known === undefined)
    throw new MessageError(`the process asked a question of unknown kind ${preview(JSON.stringify(kind))}`)
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

const SHOWN_CHARS_MAX = 200

function preview(text: string): string {
  return JSON.stringify(text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text)
}
