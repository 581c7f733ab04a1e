import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonTemplate, TemplateMemo } from './json-template.ts'

const builds: readonly ((text: string, number: number) => object)[] = [
  (text, number) => ({ first: 'a', text, number, last: null }),
  (text, number) => ({ number, inner: [{ text }] }),
  (text) => ({ delta: { content: text }, model: '"' }),
  (_text, number) => ({ number }),
  (text, number) => ({ text, again: text, number }),
  (text, number) => ({ text, number, again: number }),
]

test('JSON template: the result equals JSON.stringify, wherever the text and the number are', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', '"', '\\', '\u0000text\u0000', '\ud800'))
  fc.assert(
    fc.property(fc.constantFrom(...builds), fc.array(fc.tuple(text, fc.nat())), (build, values) => {
      const template = jsonTemplate(build)
      for (const [output, number] of values)
        expect(template.json(JSON.stringify(output), number)).toBe(JSON.stringify(build(output, number)))
    }),
  )
})

test('JSON template: a value that contains the placeholders is serialized without the template', () => {
  const marks = { name: '\u0000text\u0000', number: 9_007_199_254_740_881 }
  const build = (text: string, number: number): object => ({ ...marks, text, at: number })
  expect(jsonTemplate(build).json('"a"', 7)).toBe(JSON.stringify(build('a', 7)))
})

test('JSON template: it is reused for the same key, and rebuilt for another', () => {
  const memo = new TemplateMemo()
  const build =
    (id: string) =>
    (text: string): object => ({ id, text })
  const first = memo.of('a', build('a'))
  expect(memo.of('a', build('a'))).toBe(first)
  expect(memo.of('b', build('b')).json('"x"', 0)).toBe('{"id":"b","text":"x"}')
  expect(memo.of('a', build('a')).json('"x"', 0)).toBe('{"id":"a","text":"x"}')
})
