import { describe, expect, test } from 'vitest'
import { problemWith } from './answer-schema.ts'

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

describe('problemWith', () => {
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
    expect(problemWith(schema, answer)).toBeUndefined()
  })

  test.each<[unknown, unknown, string]>([
    [approval, 'yes', 'must be true or false or an object with approved: true or false'],
    [approval, { approved: 'yes' }, 'must be true or false or an object with approved: true or false'],
    [approval, null, 'must be true or false or an object with approved: true or false'],
    [{ enum: ['retry', 'fail'] }, 'maybe', 'must be "retry" or "fail"'],
    [{ const: 1 }, '1', 'must be 1'],
    [{ type: ['string', 'null'] }, 1, 'must be a string or null'],
    [{ type: 'integer' }, 1.5, 'must be an integer'],
    [{ type: 'array', items: { enum: ['a'] } }, ['b'], 'must be a list of which each item is "a"'],
    [{ type: 'array', minItems: 1 }, [], 'must be a list'],
    [{ type: 'array', uniqueItems: true }, ['a', 'a'], 'must be a list'],
    [{ type: 'object', properties: { a: { type: 'string' } } }, { a: 1 }, 'must be an object'],
    [{ type: 'object' }, [], 'must be an object'],
    [{ enum: [{ a: 1 }] }, { ['__proto__']: 1 }, 'must be {"a":1}'],
    [false, 1, 'must be another value'],
  ])('rejects what %j does not allow: %j', (schema, answer, problem) => {
    expect(problemWith(schema, answer)).toBe(problem)
  })

  test('terminates for schemas and values of any depth', () => {
    let schema: unknown = { type: 'string' }
    let value: unknown = 1
    for (let level = 0; level < 10_000; level++) {
      schema = { type: 'array', items: schema }
      value = [value]
    }
    expect(problemWith(schema, value)).toBeUndefined()
  })
})
