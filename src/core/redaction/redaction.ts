/** Redaction options of a server or a component: patterns in text, and a hook for events. Validated when they are defined. */
import { HoldfastError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import { hideException } from './exceptions.ts'

/** A stretch of a text: UTF-16 units from `start` up to, not including, `end`. */
export interface RedactionSpan {
  readonly start: number
  readonly end: number
}

/** Finds what to redact in a text. Its functions must be synchronous and pure. */
export interface Redaction {
  /** Name in the replacement, `[redacted:NAME]`. */
  readonly name: string
  readonly find: (text: string) => Iterable<RedactionSpan>
  /**
   * Offset of the last part of a text that later text could turn into a match or a longer match; the length of the text if there is
   * none. Default: the last `maxChars - 1` characters.
   */
  readonly opens?: (text: string) => number
  /** Longest match that is recognized when it arrives in pieces: at most this many characters of a stream are buffered. */
  readonly maxChars: number
}

/** A redaction by regular expression. A slow expression slows every event down: avoid nested quantifiers. */
export interface PatternRedaction {
  readonly name: string
  readonly pattern: RegExp
  /** Longest match in a stream. The last `maxChars - 1` characters of a stream are held back. Default: 256. */
  readonly maxChars?: number
}

/**
 * Returns the event to log. Must be synchronous, pure and idempotent: a value may be redacted more than once. Changes to ids, keys
 * and names are ignored.
 */
export type RedactHook = (event: Event) => Event

/** Rules for removing data from events before they enter the log. */
export interface RedactOptions {
  /** Applied to every text, and to the keys of objects. Default: none. */
  readonly patterns?: readonly (Redaction | PatternRedaction | readonly Redaction[])[]
  /** Applied to every event with content, after the patterns. Default: none. */
  readonly event?: RedactHook
  /** Hide the messages of unexpected exceptions. The server log contains them, under the error id. Default: false. */
  readonly exceptions?: boolean
}

export interface Rules {
  readonly patterns: readonly Redaction[]
  readonly hooks: readonly RedactHook[]
}

const NAME = /^[a-z0-9][a-z0-9-]{0,39}$/
const PATTERN_CHARS_MAX = 256
const CHARS_MAX = 65_536
const PATTERNS_MAX = 100

const known = new WeakMap<RedactOptions, Rules>()

/** Validates the options. Throws `invalid_request` that names the problem. */
export function toRules(options: RedactOptions): Rules {
  if (typeof options !== 'object' || options === null)
    throw wrong('must be an object with `patterns`, `event` or `exceptions`')
  const before = known.get(options)
  if (before !== undefined) return before
  const { patterns = [], event, exceptions = false, ...others } = options
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw wrong(`has no option ${JSON.stringify(unknown)}`)
  if (!Array.isArray(patterns)) throw wrong('needs a list of patterns')
  const flat = patterns.flat() as (Redaction | PatternRedaction)[]
  if (flat.length > PATTERNS_MAX) throw wrong(`has more than ${PATTERNS_MAX} patterns`)
  if (event !== undefined) checkFunction('event', event)
  if (typeof exceptions !== 'boolean') throw wrong('needs true or false as exceptions')
  const hooks = [...(exceptions ? [hideException] : []), ...(event === undefined ? [] : [event])]
  const rules = { patterns: flat.map(toRedaction), hooks }
  known.set(options, rules)
  return rules
}

function toRedaction(rule: Redaction | PatternRedaction): Redaction {
  if (typeof rule !== 'object' || rule === null) throw wrong('has a pattern that is not an object')
  const { name, maxChars = PATTERN_CHARS_MAX } = rule
  if (typeof name !== 'string' || !NAME.test(name))
    throw wrong(`has a pattern whose name ${JSON.stringify(name)} is not 1 to 40 lower-case letters, digits or "-"`)
  if (!Number.isSafeInteger(maxChars) || maxChars < 1 || maxChars > CHARS_MAX)
    throw wrong(`has the pattern ${name}, whose maxChars is not a whole number from 1 to ${CHARS_MAX}`)
  if ('pattern' in rule) return { name, maxChars, find: finder(name, rule.pattern) }
  checkFunction(`find of the pattern ${name}`, rule.find)
  if (rule.opens !== undefined) checkFunction(`opens of the pattern ${name}`, rule.opens)
  return rule.maxChars === maxChars ? rule : { ...rule, maxChars }
}

function finder(name: string, pattern: unknown): Redaction['find'] {
  if (!(pattern instanceof RegExp)) throw wrong(`has the pattern ${name}, which is not a regular expression`)
  const all = new RegExp(pattern.source, `${pattern.flags.replace(/[gy]/g, '')}g`)
  if ('x'.matchAll(all).some(([match]) => match === '') || ''.matchAll(all).some(() => true))
    throw wrong(`has the pattern ${name}, which matches the empty text`)
  return (text) => text.matchAll(all).map(({ 0: match, index }) => ({ start: index, end: index + match.length }))
}

function checkFunction(what: string, value: unknown): void {
  if (typeof value !== 'function') throw wrong(`needs a function as ${what}`)
  if (['AsyncFunction', 'AsyncGeneratorFunction'].includes(value.constructor.name))
    throw wrong(`needs a synchronous function as ${what}`)
}

function wrong(problem: string): HoldfastError {
  return new HoldfastError('invalid_request', `redact ${problem}`)
}
