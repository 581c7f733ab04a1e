/** Parses `/continue` of a run: the position in its conversation, and additional input. Follows agno's rules. */
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Message } from '../view/messages.ts'
import { wholeCountOf } from '../view/messages.ts'
import { type Fields, switchField, textField } from './fields.ts'

export interface Continuation {
  /** A number is the number of messages to keep. */
  readonly from: 'end' | 'last_user' | number
  readonly fork: boolean
  readonly regenerate: boolean
  /** The regenerated response replaces the original one. */
  readonly replaces: boolean
  /** A new user message after the kept ones. */
  readonly text: string | undefined
}

export function continuationOf(fields: Fields): Continuation {
  const from = positionIn(fields)
  const fork = switchField(fields, 'fork', false)
  const regenerate = switchField(fields, 'regenerate', false)
  const replaces = switchField(fields, 'replace_original', true)
  const isReplaceGiven = (fields['replace_original'] ?? '') !== ''
  const instructions = textField(fields, 'additional_instructions')
  const input = textField(fields, 'input')
  if (instructions !== undefined && input !== undefined)
    refuse('send either additional_instructions or input, not both')
  if (!regenerate && instructions !== undefined) refuse('additional_instructions needs regenerate=true')
  if (!regenerate && isReplaceGiven) refuse('replace_original needs regenerate=true')
  if (regenerate && fork) refuse('regenerate always starts another run: leave out fork')
  if (regenerate && typeof from === 'number') refuse('regenerate finds its position itself: leave out continue_from')
  return { from, fork, regenerate, replaces: regenerate && replaces, text: instructions ?? input }
}

function positionIn(fields: Fields): Continuation['from'] {
  const from = textField(fields, 'continue_from')?.trim() ?? 'end'
  if (from === 'end' || from === 'last_user') return from
  if (/^-?\d{1,9}$/.test(from)) return Number(from)
  throw new HoldfastError(
    'invalid_request',
    "Invalid continue_from. Use 'end', 'last_user', or a numeric message index.",
  )
}

/** Number of messages of the run to keep. */
export function keptCount({ from, regenerate }: Continuation, messages: readonly Message[]): number {
  if (regenerate) return beforeLastAnswer(messages)
  if (from === 'end') return messages.length
  if (from === 'last_user') return messages.findLastIndex(({ shown }) => shown.role === 'user') + 1
  return wholeCountOf(messages, inRange(from, messages.length))
}

/** A number of messages to keep, as given by a client. */
export function inRange(count: number, length: number): number {
  if (count < 0 || count > length)
    throw new HoldfastError('invalid_request', `message_index must be between 0 and ${length}`)
  return count
}

/** Keeps tool calls and their results: only the final response is generated again. */
function beforeLastAnswer(messages: readonly Message[]): number {
  const last = messages.findLastIndex(({ shown }) => shown.role !== 'assistant' || shown.tool_calls !== undefined)
  return wholeCountOf(messages, last + 1)
}

function refuse(message: string): never {
  throw new HoldfastError('invalid_request', message)
}
