/**
 * Validates an answer against the JSON schema of its question. Supports the keywords that restrict values; the agent, which gets the
 * answer, is responsible for all others.
 */

/** What is wrong with an answer, or undefined. Names the values that there are. */
export function problemWith(schema: unknown, answer: unknown): string | undefined {
  return fits(schema, answer, 0) ? undefined : `must be ${describe(schema, 0)}`
}

/** Deeper parts of a schema, or of a value, are not looked at. */
const DEPTH_MAX = 20

type Schema = Readonly<Record<string, unknown>>

function fits(schema: unknown, value: unknown, depth: number): boolean {
  if (schema === false) return false
  if (!isObject(schema) || depth > DEPTH_MAX) return true
  const { type, enum: values, const: only, oneOf, anyOf, allOf } = schema
  const part = (each: unknown): boolean => fits(each, value, depth + 1)
  if (type !== undefined && !typesOf(type).some((name) => isOfType(name, value))) return false
  if (Array.isArray(values) && !values.some((each) => isEqual(each, value))) return false
  if (Object.hasOwn(schema, 'const') && !isEqual(only, value)) return false
  // Of several that fit, `oneOf` would want exactly one: no answer is refused for fitting too well.
  for (const choices of [oneOf, anyOf]) if (Array.isArray(choices) && !choices.some(part)) return false
  if (Array.isArray(allOf) && !allOf.every(part)) return false
  if (Array.isArray(value)) return listFits(schema, value, depth)
  return !isObject(value) || objectFits(schema, value, depth)
}

function listFits(
  { items, minItems, maxItems, uniqueItems }: Schema,
  value: readonly unknown[],
  depth: number,
): boolean {
  if (typeof minItems === 'number' && value.length < minItems) return false
  if (typeof maxItems === 'number' && value.length > maxItems) return false
  if (uniqueItems === true && hasRepeated(value)) return false
  return items === undefined || value.every((item) => fits(items, item, depth + 1))
}

/** A list that is too long to be compared is not refused. */
function hasRepeated(value: readonly unknown[]): boolean {
  if (value.length > COMPARED_MAX) return false
  return value.some((item, at) => value.slice(0, at).some((earlier) => isEqual(earlier, item)))
}

const COMPARED_MAX = 100

function objectFits({ required, properties }: Schema, value: Schema, depth: number): boolean {
  if (Array.isArray(required) && !required.every((name) => Object.hasOwn(value, String(name)))) return false
  if (!isObject(properties)) return true
  return Object.entries(properties).every(
    ([name, schema]) => !Object.hasOwn(value, name) || fits(schema, value[name], depth + 1),
  )
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isObject(value)
    case 'integer':
      return Number.isInteger(value)
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type
    default:
      return true
  }
}

const WORDS: ReadonlyMap<string, string> = new Map([
  ['boolean', 'true or false'],
  ['string', 'a string'],
  ['number', 'a number'],
  ['integer', 'an integer'],
  ['array', 'a list'],
  ['object', 'an object'],
  ['null', 'null'],
])

/** Values that are listed one by one, and choices of a schema. */
const LISTED_MAX = 20

function describe(schema: unknown, depth: number): string {
  if (!isObject(schema) || depth > DEPTH_MAX) return 'another value'
  const { enum: values, oneOf, anyOf, type, properties, required, items } = schema
  if (Array.isArray(values)) return anyOfThese(values.slice(0, LISTED_MAX).map((value) => JSON.stringify(value)))
  if (Object.hasOwn(schema, 'const')) return JSON.stringify(schema['const'])
  const choices = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : undefined
  if (choices !== undefined)
    return anyOfThese(choices.slice(0, LISTED_MAX).map((choice) => describe(choice, depth + 1)))
  if (isObject(properties) && Array.isArray(required) && required.length > 0) {
    const fields = required
      .slice(0, LISTED_MAX)
      .map((name) => `${String(name)}: ${describe(properties[String(name)], depth + 1)}`)
    return `an object with ${fields.join(', ')}`
  }
  if (type === 'array' && items !== undefined) return `a list of which each item is ${describe(items, depth + 1)}`
  return type === undefined ? 'a value' : anyOfThese(typesOf(type).map((name) => WORDS.get(name) ?? name))
}

function anyOfThese(words: readonly string[]): string {
  return words.join(' or ')
}

function typesOf(type: unknown): readonly string[] {
  return (Array.isArray(type) ? type : [type]).map(String)
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Both are JSON; the order of members makes no difference. */
function isEqual(left: unknown, right: unknown, depth = 0): boolean {
  if (Object.is(left, right)) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (Array.isArray(left) !== Array.isArray(right) || depth > DEPTH_MAX) return false
  const names = Object.keys(left)
  return (
    names.length === Object.keys(right).length &&
    names.every(
      (name) => Object.hasOwn(right, name) && isEqual((left as Schema)[name], (right as Schema)[name], depth + 1),
    )
  )
}
