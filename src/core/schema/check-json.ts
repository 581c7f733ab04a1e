/**
 * Validates a value against a JSON Schema. Supports the keywords that restrict values except patterns and formats, which the code
 * that receives the value must check.
 */
import { isObject } from '../model/is-object.ts'
import type { SchemaIssue } from '../ports/schema.ts'

/** The first problem, or undefined. Its message names the allowed values. */
export function checkJson(schema: unknown, value: unknown): SchemaIssue | undefined {
  const found = find(schema, value, { root: schema, depth: 0, path: '', budget: { left: CHECKS_MAX } })
  return found === undefined ? undefined : { path: found.path.slice(0, PATH_CHARS_MAX), message: found.message }
}

/** Deeper parts of a schema or a value are not checked. */
const DEPTH_MAX = 20
const PATH_CHARS_MAX = 200

/** References can make a small schema large: after this many checks the rest is accepted. */
const CHECKS_MAX = 100_000

type Schema = Readonly<Record<string, unknown>>

interface Position {
  /** The document that references resolve in. */
  readonly root: unknown
  readonly depth: number
  readonly path: string
  readonly budget: { left: number }
}

function find(schema: unknown, value: unknown, at: Position): SchemaIssue | undefined {
  if (schema === false) return wrong(at, schema)
  if (!isObject(schema) || at.depth > DEPTH_MAX || at.budget.left-- <= 0) return undefined
  const { type, enum: values, const: only, oneOf, anyOf, allOf, $ref } = schema
  const below: Position = { ...at, depth: at.depth + 1 }
  if (type !== undefined && !typesOf(type).some((name) => isOfType(name, value))) return wrong(at, schema)
  if (Array.isArray(values) && !values.some((each) => isEqual(each, value))) return wrong(at, schema)
  if (Object.hasOwn(schema, 'const') && !isEqual(only, value)) return wrong(at, schema)
  // `oneOf` is checked like `anyOf`: a value that matches several branches is accepted.
  for (const choices of [oneOf, anyOf])
    if (Array.isArray(choices) && !choices.some((each) => find(each, value, below) === undefined))
      return wrong(at, schema)
  for (const each of Array.isArray(allOf) ? allOf : []) {
    const problem = find(each, value, below)
    if (problem !== undefined) return problem
  }
  if (typeof $ref === 'string') {
    const problem = find(referred(at.root, $ref), value, below)
    if (problem !== undefined) return problem
  }
  if (Array.isArray(value)) return inList(schema, value, at)
  if (isObject(value)) return inObject(schema, value, at)
  const bound = boundOf(schema, value)
  return bound === undefined ? undefined : { path: at.path, message: bound }
}

function wrong({ path }: Position, schema: unknown): SchemaIssue {
  return { path, message: `must be ${describe(schema, 0)}` }
}

function inList(schema: Schema, value: readonly unknown[], at: Position): SchemaIssue | undefined {
  const { items, minItems, maxItems, uniqueItems } = schema
  if (typeof minItems === 'number' && value.length < minItems)
    return { path: at.path, message: `must have at least ${minItems} items` }
  if (typeof maxItems === 'number' && value.length > maxItems)
    return { path: at.path, message: `must have at most ${maxItems} items` }
  if (uniqueItems === true && hasRepeated(value)) return { path: at.path, message: 'must have no item twice' }
  if (items === undefined) return undefined
  for (const [index, item] of value.entries()) {
    const problem = find(items, item, { ...at, depth: at.depth + 1, path: `${at.path}[${index}]` })
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Lists that are too long to compare are accepted. */
function hasRepeated(value: readonly unknown[]): boolean {
  if (value.length > COMPARED_MAX) return false
  return value.some((item, at) => value.slice(0, at).some((earlier) => isEqual(earlier, item)))
}

const COMPARED_MAX = 100

function inObject(schema: Schema, value: Schema, at: Position): SchemaIssue | undefined {
  const { required, properties, additionalProperties, patternProperties } = schema
  const known = isObject(properties) ? properties : {}
  for (const name of Array.isArray(required) ? required.map(String) : [])
    if (!Object.hasOwn(value, name))
      return { path: member(at.path, name), message: `is missing: it must be ${describe(known[name], 0)}` }
  for (const [name, item] of Object.entries(value)) {
    const inside: Position = { ...at, depth: at.depth + 1, path: member(at.path, name) }
    if (Object.hasOwn(known, name)) {
      const problem = find(known[name], item, inside)
      if (problem !== undefined) return problem
    } else if (additionalProperties === false && patternProperties === undefined)
      return { path: inside.path, message: 'is not a known property' }
    else if (isObject(additionalProperties) && patternProperties === undefined) {
      const problem = find(additionalProperties, item, inside)
      if (problem !== undefined) return problem
    }
  }
  return undefined
}

function member(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

/** Bounds of numbers and strings. */
function boundOf(schema: Schema, value: unknown): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength } = schema
  if (typeof value === 'number') {
    if (typeof minimum === 'number' && value < minimum) return `must be at least ${minimum}`
    if (typeof maximum === 'number' && value > maximum) return `must be at most ${maximum}`
    if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum)
      return `must be more than ${exclusiveMinimum}`
    if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum)
      return `must be less than ${exclusiveMaximum}`
    if (typeof multipleOf === 'number' && Number.isInteger(multipleOf) && value % multipleOf !== 0)
      return `must be a multiple of ${multipleOf}`
  }
  if (typeof value === 'string') {
    // JSON Schema counts code points.
    if (typeof minLength === 'number' && codePoints(value, minLength) < minLength)
      return `must have at least ${minLength} characters`
    if (typeof maxLength === 'number' && value.length > maxLength && codePoints(value, Infinity) > maxLength)
      return `must have at most ${maxLength} characters`
  }
  return undefined
}

function codePoints(text: string, enough: number): number {
  if (text.length < enough) return text.length
  let count = 0
  for (const _ of text) if (++count >= enough) break
  return count
}

/** Resolves a local reference. A reference to another document accepts anything. */
function referred(root: unknown, reference: string): unknown {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return true
  let found = root
  for (const part of reference.slice(2).split('/')) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (!isObject(found) || !Object.hasOwn(found, name)) return true
    found = found[name]
  }
  return found
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

/** Maximum enum values and alternatives named in a message. */
const LISTED_MAX = 20

function describe(schema: unknown, depth: number): string {
  if (schema === false) return 'another value'
  if (!isObject(schema) || depth > DEPTH_MAX) return 'a value'
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

/** Deep equality of JSON values, whatever the order of keys. */
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
