import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeFrame, encodeRetry, HEARTBEAT } from './encode.ts'
import { EventParser, type ParsedEvent } from './parse.ts'
import { anyCharacter } from '../testing/any-character.ts'

function parsed(stream: string): { events: ParsedEvent[]; comments: string[]; retries: number[] } {
  const events: ParsedEvent[] = []
  const comments: string[] = []
  const retries: number[] = []
  const parser = new EventParser({
    event: (event) => events.push(event),
    comment: (text) => comments.push(text),
    retry: (milliseconds) => retries.push(milliseconds),
  })
  parser.push(stream)
  return { events, comments, retries }
}

test('SSE: a frame has its event and its data on a line each, and an id if there is one', () => {
  expect(encodeFrame({ event: 'stream.gap', data: { earliest: 4 } })).toBe(
    'event: stream.gap\ndata: {"earliest":4}\n\n',
  )
  expect(encodeFrame({ id: '7', event: 'a', data: null })).toBe('id: 7\nevent: a\ndata: null\n\n')
})

test('SSE: any data is parsed as it was encoded', () => {
  const data = fc.jsonValue({ stringUnit: anyCharacter })
  fc.assert(
    fc.property(fc.array(data, { maxLength: 5 }), (values) => {
      const stream = values.map((value, index) => encodeFrame({ id: String(index), event: 'x', data: value })).join('')
      expect(parsed(stream).events).toEqual(
        values.map((value, index) => ({ id: String(index), event: 'x', data: JSON.stringify(value) })),
      )
    }),
  )
})

test.each([
  ['a line feed', 'a\nb'],
  ['a carriage return', 'a\rb'],
  ['NUL', 'a\0b'],
])('SSE: a field with %s, which would start another one, is rejected', (_, bad) => {
  expect(() => encodeFrame({ event: bad, data: 1 })).toThrow('cannot hold a line break or NUL')
  expect(() => encodeFrame({ event: 'a', id: bad, data: 1 })).toThrow('cannot hold a line break or NUL')
})

test('[SUB-3] SSE: a heartbeat is a comment, not an event', () => {
  expect(parsed(HEARTBEAT)).toEqual({ events: [], comments: [''], retries: [] })
})

test('SSE: retry sets the delay before the next connection', () => {
  expect(parsed(encodeRetry(1500))).toEqual({ events: [], comments: [], retries: [1500] })
})
