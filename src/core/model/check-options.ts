/** Validates options when a component is defined: a typo must fail then and not silently change behaviour at run time. */
import { HoldfastError, messageOf } from './errors.ts'
import { nearestName } from './nearest-name.ts'

/** A rule for one option. `check` may throw a more specific message. */
export interface OptionRule {
  readonly expected: string
  readonly check: (value: unknown) => boolean
}

/** One rule per option. The type makes a missing rule a compile error. */
export type OptionRules<Options> = { readonly [Name in keyof Required<Options>]: OptionRule }

/** Throws an error that names the subject, the option and its allowed values. Undefined counts as absent. */
export function checkOptions(subject: string, options: object, rules: Readonly<Record<string, OptionRule>>): void {
  for (const [name, value] of Object.entries(options)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    if (rule === undefined) throw unknownOption(subject, name, Object.keys(rules))
    if (value !== undefined) checkValue(subject, name, value, rule)
  }
}

export function checkRequired(subject: string, options: object, names: readonly string[]): void {
  for (const name of names)
    if ((options as Readonly<Record<string, unknown>>)[name] === undefined)
      throw new HoldfastError('invalid_request', `${subject}: ${name} is missing`)
}

/** Checks the known options only: a hand-written component may have others. */
export function checkKnownOptions(subject: string, options: object, rules: Readonly<Record<string, OptionRule>>): void {
  for (const [name, rule] of Object.entries(rules)) {
    const value = (options as Readonly<Record<string, unknown>>)[name]
    if (value !== undefined) checkValue(subject, name, value, rule)
  }
}

function checkValue(subject: string, name: string, value: unknown, { check, expected }: OptionRule): void {
  let fits: boolean
  try {
    fits = check(value)
  } catch (cause) {
    throw new HoldfastError('invalid_request', `${subject}: ${name}: ${messageOf(cause)}`, { cause })
  }
  if (!fits)
    throw new HoldfastError('invalid_request', `${subject}: ${name} must be ${expected}, not ${valueText(value)}`)
}

function unknownOption(subject: string, name: string, known: readonly string[]): HoldfastError {
  const nearest = nearestName(name, known)
  const advice = nearest === undefined ? `its options are ${known.join(', ')}` : `did you mean ${nearest}?`
  return new HoldfastError('invalid_request', `${subject}: unknown option ${name}: ${advice}`)
}

const SHOWN_CHARS_MAX = 80

function valueText(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object'
  return (typeof value === 'string' ? JSON.stringify(value) : String(value)).slice(0, SHOWN_CHARS_MAX)
}

export const anything: OptionRule = { expected: 'a value', check: () => true }
export const aString: OptionRule = { expected: 'a string', check: (value) => typeof value === 'string' }
export const aBoolean: OptionRule = { expected: 'true or false', check: (value) => typeof value === 'boolean' }
export const aFunction: OptionRule = { expected: 'a function', check: (value) => typeof value === 'function' }
export const aList: OptionRule = { expected: 'a list', check: (value) => Array.isArray(value) }
export const anObject: OptionRule = {
  expected: 'an object',
  check: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
}

/** A record, or a function that returns one. */
export const headersRule: OptionRule = {
  expected: 'an object or a function',
  check: (value) => anObject.check(value) || aFunction.check(value),
}
export const aCount: OptionRule = {
  expected: 'a positive integer',
  check: (value) => Number.isSafeInteger(value) && (value as number) > 0,
}
/** Milliseconds and other amounts. Some may be infinite. */
export const anAmount: OptionRule = {
  expected: 'a number that is not negative',
  check: (value) => typeof value === 'number' && value >= 0,
}

export function oneOf(...values: readonly string[]): OptionRule {
  const quoted = values.map((value) => JSON.stringify(value))
  const expected = quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)!}`
  return { expected, check: (value) => values.includes(value as string) }
}

/** An object whose fields follow these rules. */
export function optionsOf(rules: Readonly<Record<string, OptionRule>>): OptionRule {
  return {
    expected: anObject.expected,
    check: (value) => {
      if (!anObject.check(value)) return false
      for (const [name, item] of Object.entries(value as object)) {
        const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
        if (rule === undefined) {
          const nearest = nearestName(name, Object.keys(rules))
          throw new TypeError(`unknown option ${name}${nearest === undefined ? '' : `: did you mean ${nearest}?`}`)
        }
        if (item !== undefined && !rule.check(item))
          throw new TypeError(`${name} must be ${rule.expected}, not ${valueText(item)}`)
      }
      return true
    },
  }
}
