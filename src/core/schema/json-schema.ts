/** Converts Standard Schemas to JSON Schema, for forms and listings, and JSON Schemas to Standard Schemas. */
import type { JsonSchema, SchemaIssue, StandardIssue, StandardSchema, ValueSchema } from '../ports/schema.ts'
import { messageOf } from '../model/errors.ts'
import { checkJson } from './check-json.ts'
import { isDescribed, isStandardSchema, validate } from './validate.ts'

/** `input`: schema of the accepted values. `output`: schema of the returned values. */
export type SchemaSide = 'input' | 'output'

/** Throws if the library cannot convert the schema. The message says what to do. */
export function jsonSchemaOf(schema: ValueSchema, side: SchemaSide): JsonSchema {
  const known = derived[side].get(schema)
  if (known !== undefined) return known
  const found = isDescribed(schema) ? schema.jsonSchema : derive(schema, side)
  derived[side].set(schema, found)
  return found
}

const derived = {
  input: new WeakMap<object, JsonSchema>(),
  output: new WeakMap<object, JsonSchema>(),
} satisfies Record<SchemaSide, unknown>

function derive(schema: StandardSchema, side: SchemaSide): JsonSchema {
  const { jsonSchema, vendor } = schema['~standard']
  try {
    if (jsonSchema !== undefined)
      return plainSchema(jsonSchema[side]({ target: 'draft-2020-12', libraryOptions: lenient.get(vendor) }))
    const { toJsonSchema } = schema as { toJsonSchema?: () => unknown }
    if (typeof toJsonSchema === 'function') return plainSchema(toJsonSchema.call(schema))
  } catch (thrown) {
    throw new TypeError(`its JSON Schema cannot be derived (${messageOf(thrown)}): ${ADVICE}`, { cause: thrown })
  }
  throw new TypeError(`${vendor} schemas do not provide a JSON Schema here: ${advice.get(vendor) ?? ADVICE}`)
}

const ADVICE = 'pass { schema, jsonSchema }'

const advice: ReadonlyMap<string, string> = new Map([
  ['valibot', 'wrap it with toStandardJsonSchema of @valibot/to-json-schema, or pass { schema, jsonSchema }'],
  ['zod', "update zod to 4.2 or newer, or pass { schema, jsonSchema: z.toJSONSchema(schema, { io: 'input' }) }"],
])

/** Describes what JSON Schema cannot express, such as a date, as any value instead of throwing. */
const lenient: ReadonlyMap<string, Record<string, unknown>> = new Map<string, Record<string, unknown>>([
  ['zod', { unrepresentable: 'any' }],
  ['arktype', { fallback: ({ base }: { base: unknown }) => base }],
  ['valibot', { errorMode: 'ignore' }],
])

function plainSchema(schema: unknown): JsonSchema {
  return JSON.parse(JSON.stringify(schema)) as JsonSchema
}

/** A Standard Schema that checks values against a JSON Schema. `Value` is not checked by the compiler. */
export function fromJsonSchema<Value = unknown>(jsonSchema: JsonSchema): StandardSchema<Value> {
  return ownSchema(jsonSchema, (value) => {
    const problem = checkJson(jsonSchema, value)
    return problem === undefined ? { value: value as Value } : { issues: [toStandardIssue(problem)] }
  })
}

/** A Standard Schema from a function that returns the value, or throws the problem. */
export function fromCheck<Value>(check: (value: unknown) => Value, jsonSchema: JsonSchema): StandardSchema<Value> {
  return ownSchema(jsonSchema, (value) => ({ value: check(value) }))
}

/** The same schema without its transforms: refuses the same values, and returns them unchanged. */
export function checkOnly<Input>(schema: ValueSchema<Input, unknown>): StandardSchema<Input> {
  return ownSchema(jsonSchemaOf(schema, 'input'), async (value) => {
    const { issues } = await validate(schema, value)
    return issues === undefined ? { value: value as Input } : { issues: issues.map(toStandardIssue) }
  })
}

function ownSchema<Value>(
  jsonSchema: JsonSchema,
  validates: StandardSchema<Value>['~standard']['validate'],
): StandardSchema<Value> {
  const tell = (): Record<string, unknown> => ({ ...jsonSchema })
  return {
    '~standard': { version: 1, vendor: 'holdfast', validate: validates, jsonSchema: { input: tell, output: tell } },
  }
}

function toStandardIssue({ path, message }: SchemaIssue): StandardIssue {
  return { path: path === '' ? [] : [path], message }
}

/** Throws if the value is not a schema, or if no JSON Schema can be derived from it. */
export function checkSchema(schema: unknown, side: SchemaSide): void {
  if (!isStandardSchema(schema) && !isDescribed(schema))
    throw new TypeError('must be a Standard Schema (zod, valibot, arktype, …) or { schema, jsonSchema }')
  jsonSchemaOf(schema, side)
}
