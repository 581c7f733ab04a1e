import { describe, expect, test } from 'vitest'
import { printable } from '../../core/model/printable.ts'
import { cut, duration, firstRow, inOneLine, size, widthOf } from './text.ts'

describe('text on a terminal', () => {
  test.each([
    ['plain', 5],
    ['', 0],
    ['潮', 2],
    ['🌊!', 3],
    ['e\u0301', 1],
    ['\u001b[31mred\u001b[39m', 3],
  ])('%j takes %i columns', (text, columns) => {
    expect(widthOf(text)).toBe(columns)
  })

  test.each([
    ['short', 10, 'short'],
    ['exactly ten', 11, 'exactly ten'],
    ['a longer text', 8, 'a longe…'],
    ['潮潮潮潮', 5, '潮潮…'],
    ['\u001b[31ma longer text\u001b[39m', 8, '\u001b[31ma longe\u001b[39m…'],
  ])('%j is truncated to %i columns', (text, columns, expected) => {
    expect(cut(text, columns)).toBe(expected)
    expect(widthOf(cut(text, columns))).toBeLessThanOrEqual(columns)
  })

  test.each([
    ['the tide comes in', 8, 'the tide', 'comes in'],
    ['the tide comes in', 9, 'the tide', 'comes in'],
    ['nowhere-to-break', 7, 'nowhere', '-to-break'],
    ['潮潮潮', 1, '潮', '潮潮'],
  ])('the first row of %j in %i columns is %j', (text, columns, row, rest) => {
    expect(firstRow(text, columns)).toEqual([row, rest])
  })

  test('has no control sequence', () => {
    expect(printable('a\u001b[2Jb\u0007\u009bc\r\nd\te\u202e')).toBe('a\u{fffd}[2Jb\u{fffd}\u{fffd}c\nd    e\u{fffd}')
  })

  test('a value is one line, however large it is', () => {
    expect(inOneLine({ a: 'b\nc' })).toBe('{"a":"b\\nc"}')
    expect(inOneLine('b\n\n  c')).toBe('b c')
    expect(inOneLine('x'.repeat(1e6), 10)).toBe('xxxxxxxxx…')
    expect(inOneLine(undefined)).toBe('')
  })

  test.each([
    [-5, '0.0s'],
    [949, '0.9s'],
    [9999, '9.9s'],
    [59_999, '59s'],
    [65_000, '1m 05s'],
    [3_660_000, '1h 01m'],
    [90_000_000, '1d 1h'],
  ])('%i ms are %s', (ms, text) => {
    expect(duration(ms)).toBe(text)
  })

  test.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [12_345_678, '12.3 MB'],
  ])('%i bytes are %s', (bytes, text) => {
    expect(size(bytes)).toBe(text)
  })
})
