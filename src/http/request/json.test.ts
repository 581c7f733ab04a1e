import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { jsonBounds, parseJson, parseJsonOrText } from './json.ts'
import { listOf } from './list-shape.ts'

const { maxNodes, maxMembers, maxDepth } = jsonBounds

function refusalOf(text: string): { code: string; message: string } {
  try {
    parseJson(text, 'the body')
  } catch (cause) {
    return cause as { code: string; message: string }
  }
  throw new Error('it was taken')
}

describe('parseJson', () => {
  test.each<[string, string]>([
    ['a million objects', `[${'{},'.repeat(1_000_000)}{}]`],
    ['a million numbers', `[${'0,'.repeat(1_000_000)}0]`],
    ['one value more than is allowed', `[${'0,'.repeat(maxNodes - 1)}0]`],
    ['too many members', `{${Array.from({ length: maxMembers + 1 }, (_, index) => `"${index}":0`).join(',')}}`],
  ])('rejects %s before building it', (_name, text) => {
    expect(refusalOf(text)).toMatchObject({ code: 'too_large', message: expect.stringMatching(/^the body holds /) })
  })

  test.each<[string, string]>([
    ['a million levels', '['.repeat(1_000_000) + ']'.repeat(1_000_000)],
    ['a million levels that are never closed', '{"a":'.repeat(1_000_000)],
    ['one level more than is allowed', '['.repeat(maxDepth + 1) + ']'.repeat(maxDepth + 1)],
    ['brackets behind an escaped quote', `["\\"", ${'['.repeat(maxDepth + 1)}`],
  ])('rejects %s', (_name, text) => {
    expect(refusalOf(text)).toMatchObject({ code: 'invalid_request', message: expect.stringContaining('levels') })
  })

  test.each<[string, string]>([
    ['as many values as are allowed', `[${'0,'.repeat(maxNodes - 2)}0]`],
    ['as many members', `{${Array.from({ length: maxMembers }, (_, index) => `"${index}":0`).join(',')}}`],
    ['as many levels', '['.repeat(maxDepth) + ']'.repeat(maxDepth)],
    ['brackets and commas in strings', JSON.stringify({ text: '[{,'.repeat(100_000) })],
    ['strings that end in backslashes', String.raw`["\\", "\"", "[[[\\\""]`],
  ])('accepts %s', (_name, text) => {
    expect(parseJson(text, 'the body')).toEqual(JSON.parse(text))
  })

  const digits = '9'.repeat(400)
  const infinite = ['1e999', '[-1e999]', '{"a":1E+400 }', '[0,true, 1e400,0]', digits, `{"a":{"b":[-${digits}]}}`]
  test.each(infinite)('rejects a number outside the range of a double: %j', (text) => {
    expect(() => parseJson(text, 'the body')).toThrow('holds a number that is too large')
  })

  test.each(['1e30', '[true,false,"1e999",{"e":1e3}]', `["${digits}",1]`, `0.${digits}`, `[${' '.repeat(400)}1]`])(
    'accepts %j',
    (text) => expect(parseJson(text, 'the body')).toEqual(JSON.parse(text)),
  )

  test.each(['', '{', '"', '"\\', ']', '[}', '}}}}[', '1e', `1e${'e1'.repeat(1000)}`])('rejects %j', (text) => {
    expect(refusalOf(text).code).toBe('invalid_request')
  })
})

test('parseJsonOrText returns a text that is not JSON, or too large, unchanged', () => {
  expect(parseJsonOrText('{"a":1}')).toEqual({ a: 1 })
  expect(parseJsonOrText('null')).toBeNull()
  expect(parseJsonOrText('hello')).toBe('hello')
  const crowded = `[${'{},'.repeat(1_000_000)}{}]`
  expect(parseJsonOrText(crowded)).toBe(crowded)
})

describe('listOf', () => {
  const shape = z.object({ items: listOf(z.object({ name: z.string() }), { min: 1, max: 3 }) })
  const issuesOf = (items: unknown) => shape.safeParse({ items }).error?.issues

  test('listOf: a list within its bounds is parsed', () => {
    expect(shape.parse({ items: [{ name: 'a' }] })).toEqual({ items: [{ name: 'a' }] })
  })

  test('stops at the first invalid item, with its path', () => {
    expect(issuesOf([{ name: 'a' }, { name: 1 }, 2])).toEqual([
      expect.objectContaining({ code: 'invalid_type', path: ['items', 1, 'name'] }),
    ])
  })

  test('reads no item of a list that is too long', () => {
    expect(issuesOf([0, 0, 0, 0])).toEqual([expect.objectContaining({ code: 'too_big', path: ['items'] })])
  })

  test('rejects a list that is too short, and what is not a list', () => {
    expect(issuesOf([])).toEqual([expect.objectContaining({ code: 'too_small', path: ['items'] })])
    expect(issuesOf({ 0: 'a' })).toEqual([expect.objectContaining({ code: 'invalid_type', path: ['items'] })])
  })
})
