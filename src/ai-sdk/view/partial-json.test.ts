import { parsePartialJson as parseOfClient } from 'ai'
import { expect, test } from 'vitest'
import { parsePartialJson } from './partial-json.ts'

const WHOLE = [
  '{"q": "a \\"b\\" \\\\ \\u00fc \\ud83d\\ude00", "tags": [true, false, null, -1.5, 20], "deep": {"all": [[], {}]}, "": ""}',
  '[ 1 , "two" ,\n{ "three" : 3e2 } ]',
  '"a\\\\\\"\\n\\\\"',
  '-12.75',
  'null',
]

test.each(WHOLE)('partial JSON: every prefix of %s is read as the AI SDK reads it', async (text) => {
  for (let length = 0; length <= text.length; length++) {
    const prefix = text.slice(0, length)
    expect(parsePartialJson(prefix), prefix).toEqual((await parseOfClient(prefix)).value)
  }
})

test.each(['{"__proto__": {"a": 1', '{"constructor": {"prototype": 1', 'what', '{"a" 1', ']'])(
  'partial JSON: %s is read as the AI SDK reads it',
  async (text) => {
    expect(parsePartialJson(text)).toEqual((await parseOfClient(text)).value)
  },
)

test('partial JSON: a long string that never ends is read in linear time', () => {
  const text = `{"text": "${'\\\\'.repeat(500_000)}`
  expect(parsePartialJson(text)).toEqual({ text: '\\'.repeat(500_000) })
})
