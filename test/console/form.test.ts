/** Forms that the console generates from JSON schemas. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { formOf, readForm, type SchemaForm } from '../../console/form/schema-form.ts'
import { modelInput } from '../../src/agents/model/input.ts'
import { jsonSchemaOf } from '../../src/core/schema/json-schema.ts'

function filled(schema: Readonly<Record<string, unknown>>, texts: Readonly<Record<string, string>>): unknown {
  return readForm(formOf(schema)!, new Map(Object.entries(texts)))
}

const trip = z.toJSONSchema(
  z.object({
    to: z.string().describe('Where to'),
    nights: z.int(),
    budget: z.number().optional(),
    window: z.boolean(),
    pets: z.boolean().optional(),
    class: z.enum(['first', 'second']).default('second'),
    stops: z.array(z.string()).optional(),
  }),
  { io: 'input' },
)

describe('console: the form of an object', () => {
  test('has a field of the right kind for each property', () => {
    const kinds = formOf(trip)!.fields.map(({ name, kind, required }) => [name, kind, required])
    expect(kinds).toEqual([
      ['to', 'text', true],
      ['nights', 'integer', true],
      ['budget', 'number', false],
      ['window', 'switch', true],
      ['pets', 'switch', false],
      ['class', 'choice', false],
      ['stops', 'json', false],
    ])
    expect(formOf(trip)!.fields[0]).toMatchObject({ about: 'Where to' })
  })

  test('returns values of the required types, and leaves out empty ones', () => {
    expect(filled(trip, { to: 'Oslo', nights: '3' })).toEqual({
      value: { to: 'Oslo', nights: 3, window: false, class: 'second' },
    })
    expect(filled(trip, { to: 'Oslo', nights: '3', budget: '0.5', window: 'true', pets: 'false', class: '0' })).toEqual(
      {
        value: { to: 'Oslo', nights: 3, budget: 0.5, window: true, pets: false, class: 'first' },
      },
    )
    expect(filled(trip, { to: 'Oslo', nights: '3', stops: '["Bergen"]' })).toMatchObject({
      value: { stops: ['Bergen'] },
    })
  })

  test.each([
    [{ nights: '3' }, 'to is missing'],
    [{ to: 'Oslo', nights: 'three' }, 'nights is not a number'],
    [{ to: 'Oslo', nights: '1.5' }, 'nights is not a whole number'],
    [{ to: 'Oslo', nights: '1', stops: '[' }, 'stops is not JSON'],
  ])('reports the problem of %j', (texts, wrong) => {
    expect(filled(trip, texts)).toEqual({ wrong: expect.stringContaining(wrong) as string })
  })

  test('accepts a property of any name', () => {
    const properties = JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"number"}}') as object
    const form = formOf({ type: 'object', properties }) as SchemaForm
    const read = readForm(form, new Map([['__proto__', 'x']])) as { value: object }
    expect(Object.entries(read.value)).toEqual([['__proto__', 'x']])
  })
})

describe('console: a form of several alternatives', () => {
  test('is that of the first one that has a form', () => {
    const schema = { description: 'What to say', anyOf: [{ type: 'array' }, { type: 'string' }, { type: 'number' }] }
    expect(formOf(schema)).toMatchObject({ of: 'value', fields: [{ kind: 'text', about: 'What to say' }] })
    expect(formOf(jsonSchemaOf(modelInput, 'input'))).toMatchObject({
      of: 'value',
      fields: [{ kind: 'text', title: 'Input' }],
    })
  })

  test('returns null for an empty required value that may be null', () => {
    const schema = z.toJSONSchema(z.object({ name: z.string().nullable(), age: z.int().nullable().optional() }))
    expect(formOf(schema)!.fields.map(({ kind, nullable }) => [kind, nullable])).toEqual([
      ['text', true],
      ['integer', true],
    ])
    expect(filled(schema, {})).toEqual({ value: { name: null } })
    expect(filled(schema, { name: 'Ada', age: '36' })).toEqual({ value: { name: 'Ada', age: 36 } })
    expect(formOf({ type: ['string', 'null'] })).toMatchObject({ fields: [{ kind: 'text', nullable: true }] })
  })
})

describe('console: the form of a single value', () => {
  test.each([
    [{ type: 'string' }, '', ''],
    [{ type: 'number' }, '2.5', 2.5],
    [{ type: 'boolean' }, 'true', true],
    [{ enum: [1, 'two', null] }, '2', null],
  ])('a form for %j accepts %j', (schema, text, value) => {
    expect(filled(schema, { input: text })).toEqual({ value })
  })

  test.each([
    [undefined],
    [null],
    [true],
    [{}],
    [{ type: 'array' }],
    [{ anyOf: [{ type: 'array' }, { type: 'null' }] }],
  ])('does not exist for %j, which is entered as JSON', (schema) => {
    expect(formOf(schema)).toBeUndefined()
  })
})
