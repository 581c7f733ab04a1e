import { describe, expect, test } from 'vitest'
import { EventParser, FrameTooLargeError } from './parse.ts'

/** All output of the parser, in order. */
type Said =
  | { readonly event: string; readonly data: string; readonly id: string | undefined }
  | { readonly comment: string }
  | { readonly retry: number }

function parse(chunks: readonly string[], maxChars?: number): Said[] {
  const output: Said[] = []
  const listener = {
    event: (parsed: Said) => output.push(parsed),
    comment: (comment: string) => output.push({ comment }),
    retry: (retry: number) => output.push({ retry }),
  }
  const parser = new EventParser(listener, maxChars)
  for (const chunk of chunks) parser.push(chunk)
  return output
}

function event(data: string, more: { event?: string; id?: string } = {}): Said {
  return { event: 'message', id: undefined, data, ...more }
}

/** Each is tried with every kind of line break and every cut. */
const fixtures: readonly (readonly [string, string, readonly Said[]])[] = [
  ['nothing', '', []],
  ['one event', 'data: a\n\n', [event('a')]],
  ['an event that is not ended', 'data: a\n', []],
  ['a line that is not ended', 'data: a\n\ndata: b', [event('a')]],
  ['all fields', 'id: 1\nevent: x\ndata: a\n\n', [event('a', { event: 'x', id: '1' })]],
  ['two events', 'data: a\n\ndata: b\n\n', [event('a'), event('b')]],
  ['data on several lines', 'data: a\ndata:\ndata: b\n\n', [event('a\n\nb')]],
  ['a field without a space', 'data:a\nid:1\n\n', [event('a', { id: '1' })]],
  ['one space is taken away, not two', 'data:  a \n\n', [event(' a ')]],
  ['a colon in a value', 'data: a: b\n\n', [event('a: b')]],
  ['data without a colon', 'data\n\n', [event('')]],
  ['data without a value, twice', 'data\ndata\n\n', [event('\n')]],
  ['an event without data', 'event: x\nid: 1\n\ndata: a\n\n', [event('a', { id: '1' })]],
  ['an id that stays', 'id: 1\ndata: a\n\ndata: b\n\n', [event('a', { id: '1' }), event('b', { id: '1' })]],
  ['an id that is taken back', 'id: 1\ndata: a\n\nid\ndata: b\n\n', [event('a', { id: '1' }), event('b', { id: '' })]],
  ['an id with NUL', 'id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n', [event('a', { id: '1' }), event('b', { id: '1' })]],
  ['a name that does not stay', 'event: x\ndata: a\n\ndata: b\n\n', [event('a', { event: 'x' }), event('b')]],
  ['fields in another case', 'Data: a\nDATA: b\n\n', []],
  ['unknown fields', 'foo: 1\nfoo\n: c\ndata: a\n\n', [{ comment: ' c' }, event('a')]],
  ['a heartbeat', ':\n\n', [{ comment: '' }]],
  [
    'comments',
    ': one\n:two\ndata: a\n: three\n\n',
    [{ comment: ' one' }, { comment: 'two' }, { comment: ' three' }, event('a')],
  ],
  ['retries', 'retry: 1500\n\nretry: 1s\n\nretry:-1\n\nretry:\n\n', [{ retry: 1500 }]],
  ['blank lines', '\n\n\ndata: a\n\n\n\n', [event('a')]],
  ['a byte order mark', '\ufeffdata: a\n\n', [event('a')]],
  ['a byte order mark that is not the first', 'data: a\n\n\ufeffdata: b\n\ndata: c\n\n', [event('a'), event('c')]],
  ['a byte order mark in a value', 'data: \ufeffa\n\n', [event('\ufeffa')]],
  ['other line separators are text', 'data: a\u2028b\u0085c\u000bd\n\n', [event('a\u2028b\u0085c\u000bd')]],
  ['text of every width', 'data: é漢😀\ud800\n\n', [event('é漢😀\ud800')]],
]

describe('[SUB-2] SSE: a stream is parsed the same however it is cut', () => {
  for (const [name, breaks] of [
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ] as const) {
    test.each(fixtures)(`${name} line breaks: %s`, (_, text, expected) => {
      const stream = text.replaceAll('\n', breaks)
      expect(parse([stream])).toEqual(expected)
      for (let first = 0; first <= stream.length; first++) {
        for (let second = first; second <= stream.length; second++) {
          const chunks = [stream.slice(0, first), stream.slice(first, second), stream.slice(second)]
          expect(parse(chunks), JSON.stringify(chunks)).toEqual(expected)
        }
      }
    })
  }

  test('a stream of one character at a time is parsed the same', () => {
    for (const [, text, expected] of fixtures) expect(parse(text.split(''))).toEqual(expected)
  })

  test('a stream with all kinds of line breaks is parsed the same', () => {
    const stream = 'data: a\r\ndata: b\rdata: c\n\r\ndata: d\r\r'
    for (let cut = 0; cut <= stream.length; cut++) {
      expect(parse([stream.slice(0, cut), stream.slice(cut)])).toEqual([event('a\nb\nc'), event('d')])
    }
  })
})

describe('SSE: oversized input is rejected, however it is cut', () => {
  const bound = 20
  test.each<[string, string]>([
    ['a line of data', `data: ${'a'.repeat(bound + 1)}\n\n`],
    ['a line that never ends', 'a'.repeat(bound + 1)],
    ['data on many lines', `data: ${'a'.repeat(8)}\n`.repeat(4)],
    ['empty data on many lines', 'data\n'.repeat(100)],
    ['the name of an event', `event: ${'a'.repeat(bound)}\ndata: a\n\n`],
    ['a comment', `: ${'a'.repeat(bound)}\n`],
  ])('%s', (_, stream) => {
    for (let cut = 0; cut <= stream.length; cut++) {
      const chunks = [stream.slice(0, cut), stream.slice(cut)]
      expect(() => parse(chunks, bound), JSON.stringify(chunks)).toThrow(FrameTooLargeError)
    }
  })

  test('input of the maximum size is accepted', () => {
    const stream = `data: ${'a'.repeat(14)}\n\n`.repeat(50)
    for (let cut = 0; cut <= stream.length; cut++) {
      expect(parse([stream.slice(0, cut), stream.slice(cut)], bound)).toHaveLength(50)
    }
  })
})
