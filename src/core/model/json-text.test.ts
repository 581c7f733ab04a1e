/** JSON text is stored unchanged only if the record stays the same as after serializing it. */
import { expect, test } from 'vitest'
import { createEvent } from '../ports/component.ts'
import { JsonText } from './json-text.ts'
import { encodeBody, eventOf } from './record.ts'

const bounds = { maxDepth: 8, maxBytes: 100_000 }

function bodyOf(text: string, limits = bounds): string {
  const data = new JsonText(text, JSON.parse(text))
  return encodeBody(createEvent('upstream.received', { protocol: 'openai', name: 'a"b', data }), limits)
}

test('raw JSON: an upstream’s JSON is in the record unchanged, numbers and escapes included', () => {
  const text = '{"n":1.0e2,"e":"\\u00e9","list":[1,2]}'
  expect(bodyOf(text)).toBe(
    `"type":"upstream.received","data":{"protocol":"openai","name":"a\\"b","data":${text}}}\n\n`,
  )
  expect(eventOf(bodyOf(text)).data).toEqual({ protocol: 'openai', name: 'a"b', data: JSON.parse(text) })
})

test('[LOG-1] raw JSON: a line break within it does not break the record', () => {
  const body = bodyOf('{"a":\n1,\r\n"b":2}')
  expect(body.trimEnd()).not.toMatch(/[\n\r]/)
  expect(eventOf(body).data).toMatchObject({ data: { a: 1, b: 2 } })
})

test('[EVT-1] raw JSON: the limits of depth and size apply to it', () => {
  expect(() => bodyOf('[[[[[[[[1]]]]]]]]')).toThrow(/nested more than 8 levels/)
  expect(() => bodyOf(JSON.stringify('x'.repeat(100_001)))).toThrow(/limit/)
  // Brackets inside of strings count as levels, which only disables the shortcut.
  expect(eventOf(bodyOf(JSON.stringify('}'.repeat(20)))).data).toMatchObject({ data: '}'.repeat(20) })
})
