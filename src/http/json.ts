/** Parses JSON of clients within bounds that are checked before anything is built: a small text can be a million objects. */
import { HoldfastError, messageOf } from '../core/model/errors.ts'

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
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new HoldfastError('invalid_request', `${what} is not JSON: ${messageOf(cause)}`, { cause })
  }
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
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const UPPER_E = 0x45
const LOWER_E = 0x65

/** A number of fewer characters and without an exponent is finite. */
const FINITE_CHARS_MAX = 300

/**
 * Counts brackets and commas outside of strings, which bound what the parser makes of any text, valid or not. Looks at the numbers too:
 * to go through the values once they are parsed takes longer than to parse them.
 */
function refuseCrowded(text: string, what: string): void {
  const members = [0]
  let nodes = 1
  /** Where the value that may be a number begins, and whether it may have an exponent. */
  let from = 0
  let hasExponent = false
  const endValue = (at: number): void => {
    if ((hasExponent || at - from > FINITE_CHARS_MAX) && isInfinite(text.slice(from, at)))
      throw new HoldfastError('invalid_request', `${what} holds a number that is too large`)
    hasExponent = false
    from = at + 1
  }
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at)
    switch (character) {
      case UPPER_E:
      case LOWER_E:
        hasExponent = true
        continue
      case QUOTE:
        at = endOfString(text, at)
        from = at + 1
        continue
      case COLON:
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
        members.push(character === OPEN_OBJECT ? 0 : -1)
        if (members.length > jsonBounds.depthMax + 1)
          throw new HoldfastError('invalid_request', `${what} is nested deeper than ${jsonBounds.depthMax} levels`)
        break
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (members.length > 1) members.pop()
        break
      default:
        continue
    }
    endValue(at)
  }
  endValue(text.length)
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
function isInfinite(value: string): boolean {
  return Math.abs(Number(value)) === Infinity
}
