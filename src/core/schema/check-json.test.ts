import { describe, expect, test } from 'vitest'
import { checkJson } from './check-json.ts'

const approval = {
  oneOf: [
    { type: 'boolean' },
    {
      type: 'object',
      properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
      required: ['approved'],
    },
  ],
}

describe('checkJson', () => {
  test.each<[unknown, unknown]>([
    [approval, true],
    [approval, { approved: false, reason: 'no' }],
    [{ enum: ['a', 1, null, { b: [1] }] }, { b: [1] }],
    [{ const: { a: 1, b: 2 } }, { b: 2, a: 1 }],
    [{ type: ['string', 'null'] }, null],
    [{ type: 'integer' }, 3],
    [{ type: 'array', items: { enum: ['a'] }, minItems: 1 }, ['a', 'a']],
    [{ allOf: [{ type: 'object' }, { required: ['a'] }] }, { a: 1 }],
    [{ type: 'object', properties: { a: { type: 'string' } } }, { b: 1 }],
    [{ $ref: '#/definitions/other' }, 'anything'],
    [{ type: 'string', pattern: '^(a+)+$' }, 'b'],
    [{ type: 'no type that we know' }, 1],
    [true, 1],
    ['no schema', 1],
    [undefined, 1],
  ])('accepts what %j allows: %j', (schema, answer) => {
    expect(checkJson(schema, answer)).toBeUndefined()
  })

  test.each<[unknown, unknown, string, string?]>([
    [approval, 'yes', 'must be true or false or an object with approved: true or false'],
    [approval, { approved: 'yes' }, 'must be true or false or an object with approved: true or false'],
    [approval, null, 'must be true or false or an object with approved: true or false'],
    [{ enum: ['retry', 'fail'] }, 'maybe', 'must be "retry" or "fail"'],
    [{ const: 1 }, '1', 'must be 1'],
    [{ type: ['string', 'null'] }, 1, 'must be a string or null'],
    [{ type: 'integer' }, 1.5, 'must be an integer'],
    [{ type: 'array', items: { enum: ['a'] } }, ['a', 'b'], 'must be "a"', '[1]'],
    [{ type: 'array', items: { enum: ['a'] } }, 'a', 'must be a list of which each item is "a"'],
    [{ type: 'array', minItems: 1 }, [], 'must have at least 1 items'],
    [{ type: 'array', maxItems: 1 }, [1, 2], 'must have at most 1 items'],
    [{ type: 'array', uniqueItems: true }, ['a', 'a'], 'must have no item twice'],
    [{ type: 'object', properties: { a: { type: 'string' } } }, { a: 1 }, 'must be a string', 'a'],
    [
      { properties: { a: { items: { properties: { b: { type: 'number' } } } } } },
      { a: [{}, { b: 'x' }] },
      'must be a number',
      'a[1].b',
    ],
    [{ required: ['a'], properties: { a: { type: 'string' } } }, {}, 'is missing: it must be a string', 'a'],
    [{ properties: {}, additionalProperties: false }, { a: 1 }, 'is not a known property', 'a'],
    [{ additionalProperties: { type: 'number' } }, { a: 'x' }, 'must be a number', 'a'],
    [{ type: 'number', minimum: 3 }, 2, 'must be at least 3'],
    [{ type: 'number', exclusiveMaximum: 3 }, 3, 'must be less than 3'],
    [{ type: 'integer', multipleOf: 5 }, 7, 'must be a multiple of 5'],
    [{ type: 'string', minLength: 2 }, '\u{1f600}', 'must have at least 2 characters'],
    [{ type: 'string', maxLength: 1 }, 'ab', 'must have at most 1 characters'],
    [
      { $defs: { id: { type: 'integer' } }, properties: { id: { $ref: '#/$defs/id' } } },
      { id: 'x' },
      'must be an integer',
      'id',
    ],
    [{ type: 'object' }, [], 'must be an object'],
    [{ enum: [{ a: 1 }] }, { ['__proto__']: 1 }, 'must be {"a":1}'],
    [false, 1, 'must be another value'],
  ])('rejects what %j does not allow: %j', (schema, answer, message, path = '') => {
    expect(checkJson(schema, answer)).toEqual({ path, message })
  })

  test('terminates for a schema that refers to itself without end', () => {
    const schema = { anyOf: Array.from({ length: 10 }, () => ({ $ref: '#' })), type: 'string' }
    expect(checkJson(schema, 'a')).toBeUndefined()
  })

  test('terminates for schemas and values of any depth', () => {
    let schema: unknown = { type: 'string' }
    let value: unknown = 1
    for (let level = 0; level < 10_000; level++) {
      schema = { type: 'array', items: schema }
      value = [value]
    }
    expect(checkJson(schema, value)).toBeUndefined()
  })
})
