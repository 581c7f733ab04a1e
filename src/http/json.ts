/** Parses JSON of clients within bounds that are checked before anything is built: a small text can be a million objects. */
import { HoldfastError, messageOf } from '../core/errors.ts'

export const jsonBounds = {
  /** Values of any kind: of scalars, arrays and objects. */
  nodesMax: 100_000,
  /** Members of one object: V8 takes seconds for some hundred thousand names. */
  membersMax: 10_000,
  depthMax: 256,
} as const

/** `what` names the text in the message of the error: `the body`, `metadata`. Throws `invalid_request`, or `too_large`. */
export function parseJson(text: string, what: string): unknown {
  refuseCrowded(text, what)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new HoldfastError('invalid_request', `${what} is not JSON: ${messageOf(cause)}`, { cause })
  }
  if (hasInfinity(value)) throw new HoldfastError('invalid_request', `${what} holds a number that is too large`)
  return value
}

/** The value of a text that may be JSON; the text itself when it is not, or exceeds the bounds. */
export function parseJsonOrText(text: string): unknown {
  try {
    return parseJson(text, 'the text')
  } catch {
    return text
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Counts brackets and commas outside of strings, which bound what the parser makes of any text, valid or not. */
function refuseCrowded(text: string, what: string): void {
  const members = [0]
  let nodes = 1
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at)
        break
      case COMMA:
        if (++nodes > jsonBounds.nodesMax) throw over(what, `more than ${jsonBounds.nodesMax} values`)
        if (members.at(-1)! >= 0 && ++members[members.length - 1]! >= jsonBounds.membersMax)
          throw over(what, `an object with more than ${jsonBounds.membersMax} members`)
        break
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        // Its first value; an array is bounded by the count of all values alone.
        if (++nodes > jsonBounds.nodesMax) throw over(what, `more than ${jsonBounds.nodesMax} values`)
        members.push(text.charCodeAt(at) === OPEN_OBJECT ? 0 : -1)
        if (members.length > jsonBounds.depthMax + 1)
          throw new HoldfastError('invalid_request', `${what} is nested deeper than ${jsonBounds.depthMax} levels`)
        break
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (members.length > 1) members.pop()
        break
      default:
    }
  }
}

/** Of the closing quote; of the last character where there is none. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const character = text.charCodeAt(at)
    if (character === BACKSLASH) at++
    else if (character === QUOTE) return at
  }
  return text.length
}

function over(what: string, has: string): HoldfastError {
  return new HoldfastError('too_large', `${what} holds ${has}`)
}

/** Of digits that are more than a number can hold `JSON.parse` makes Infinity, which is another value than was sent. */
function hasInfinity(value: unknown): boolean {
  const rest: unknown[] = [value]
  while (rest.length > 0) {
    const next = rest.pop()
    if (typeof next === 'number' && !Number.isFinite(next)) return true
    if (typeof next === 'object' && next !== null) for (const item of Object.values(next)) rest.push(item)
  }
  return false
}
