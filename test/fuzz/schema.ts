/** Arbitrary values that fit a JSON Schema, and sometimes one that violates it in one place. */
import fc from 'fast-check'
import { json, number, text } from './values.ts'

export interface Schema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly minItems?: number
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly $ref?: string
}

const DEPTH_MAX = 6
const ITEMS_MAX = 3

/** `named` are the schemas that a `$ref` may name by its last segment. */
export function fitting(
  schema: Schema,
  named: Readonly<Record<string, Schema>> = {},
  depth = 0,
): fc.Arbitrary<unknown> {
  const fit = depth > DEPTH_MAX ? json : valid(schema, named, depth)
  return fc.oneof({ weight: 12, arbitrary: fit }, { weight: 1, arbitrary: json })
}

function valid(schema: Schema, named: Readonly<Record<string, Schema>>, depth: number): fc.Arbitrary<unknown> {
  const within = (inner: Schema): fc.Arbitrary<unknown> => fitting(inner, named, depth + 1)
  const alternatives = schema.anyOf ?? schema.oneOf
  if (schema.$ref !== undefined) return within(named[schema.$ref.split('/').at(-1)!] ?? {})
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (alternatives !== undefined && alternatives.length > 0) return fc.oneof(...alternatives.map(within))
  if (schema.allOf !== undefined) {
    return fc.tuple(...schema.allOf.map(within)).map((parts) => Object.assign({}, ...(parts as object[])) as unknown)
  }
  const [type] = [schema.type ?? 'any'].flat()
  switch (type) {
    case 'object':
      return object(schema, within)
    case 'array':
      return fc.array(within(schema.items ?? {}), { minLength: schema.minItems ?? 0, maxLength: ITEMS_MAX })
    case 'integer':
      return fc.oneof(fc.integer({ min: Math.max(schema.minimum ?? -5, -5), max: 1000 }), number)
    case 'number':
      return number
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'string':
      return text
    default:
      return json
  }
}

function object(schema: Schema, within: (inner: Schema) => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties } = schema
  const fields = Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, within(inner)]))
  const known = fc.record(fields, { requiredKeys: required.filter((name) => Object.hasOwn(fields, name)) })
  if (additionalProperties === undefined || additionalProperties === false) return known
  const more = fc.dictionary(text, within(additionalProperties === true ? {} : additionalProperties), { maxKeys: 2 })
  return fc.tuple(known, more).map(([fixed, added]) => ({ ...added, ...(fixed as object) }))
}
