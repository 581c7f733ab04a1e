/** Parses JSON from clients, checking limits before parsing: a small text can expand to a million objects. */
import { HoldfastError, messageOf } from '../../core/model/errors.ts'

export const jsonBounds = {
  /** Scalars, arrays and objects together. */
  maxNodes: 100_000,
  /** Per object: V8 takes seconds for some hundred thousand names. */
  maxMembers: 10_000,
  maxDepth: 256,
} as const

/** `what` names the text in error messages: `the body`, `metadata`. Throws `invalid_request` or `too_large`. */
export function parseJson(text: string, what: string): unknown {
  refuseCrowded(text, what)
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new HoldfastError('invalid_request', `${what} is not JSON: ${messageOf(cause)}`, { cause })
  }
}

/** Returns the text itself if it is not JSON or exceeds the limits. */
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

/** A shorter number without an exponent is always finite. */
const FINITE_CHARS_MAX = 300

/**
 * Counts brackets and commas outside of strings, an upper bound for the parsed values of any text, valid or not. Checks numbers too,
 * because walking the parsed values takes longer than parsing them.
 */
function refuseCrowded(text: string, what: string): void {
  const members = [0]
  let nodes = 1
  /** Start of the current value, which may be a number, and whether it may have an exponent. */
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
        if (++nodes > jsonBounds.maxNodes) throw tooLargeError(what, `more than ${jsonBounds.maxNodes} values`)
        if (members.at(-1)! >= 0 && ++members[members.length - 1]! >= jsonBounds.maxMembers)
          throw tooLargeError(what, `an object with more than ${jsonBounds.maxMembers} members`)
        break
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        // The first value. Only `maxNodes` limits arrays.
        if (++nodes > jsonBounds.maxNodes) throw tooLargeError(what, `more than ${jsonBounds.maxNodes} values`)
        members.push(character === OPEN_OBJECT ? 0 : -1)
        if (members.length > jsonBounds.maxDepth + 1)
          throw new HoldfastError('invalid_request', `${what} is nested deeper than ${jsonBounds.maxDepth} levels`)
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

/** Index of the closing quote, or of the last character if the string is unterminated. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const character = text.charCodeAt(at)
    if (character === BACKSLASH) at++
    else if (character === QUOTE) return at
  }
  return text.length
}

function tooLargeError(what: string, has: string): HoldfastError {
  return new HoldfastError('too_large', `${what} holds ${has}`)
}

/** `JSON.parse` silently turns numbers that overflow into Infinity. */
function isInfinite(value: string): boolean {
  return Math.abs(Number(value)) === Infinity
}
