/** Streamed text is redacted like the same text in one piece. */
import { describe, expect, test } from 'vitest'
import { Random, testSeed } from '../../../test/support/random.ts'
import { Matcher } from './matcher.ts'
import { type Redaction, toRules } from './redaction.ts'
import { redactions } from './redactions.ts'
import { TextStream } from './text-stream.ts'

const all: readonly Redaction[] = Object.values(redactions).flat()
const matcher = new Matcher(all)

const KEY = 'sk-abcdEFGH1234ijklMNOP5678qrst'
const PEM = `-----BEGIN PRIVATE KEY-----\n${'MIIEvQ0/+a=\n'.repeat(20)}-----END PRIVATE KEY-----`
const SECRETS = [
  KEY,
  'ghp_16C7e42F292c6912E7710c838347Ae178B4a',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N',
  'Bearer 0123456789abcdefABCDEF',
  '4111 1111 1111 1111',
  '5555555555554444',
  'postgres://app:pa55word@db.example/x',
  'ada@mail.example.org',
  PEM,
]
const FILLERS = [
  ' ',
  '\n',
  'so ',
  'b',
  'sk-',
  'task ',
  's',
  '-----',
  ': ',
  '12 ',
  'é',
  '😀',
  'x@',
  'Bear',
  'eyJ',
  '://',
  '.',
  '"',
]

function streamed(pieces: readonly string[], given: Matcher = matcher): string[] {
  const stream = new TextStream(given)
  return [...pieces.map((piece) => stream.push(piece)), stream.flush()]
}

function cut(text: string, random: Random, longest: number): string[] {
  const pieces: string[] = []
  for (let at = 0; at < text.length;) {
    const chars = random.between(1, longest)
    pieces.push(text.slice(at, at + chars))
    at += chars
  }
  return pieces
}

test('redaction of a stream: a secret is found wherever it is cut in two', () => {
  for (const secret of SECRETS) {
    const text = `Here: ${secret}, that is it.`
    for (let at = 0; at <= text.length; at++)
      expect(streamed([text.slice(0, at), text.slice(at)]).join('')).toBe(matcher.redact(text))
  }
})

test('redaction of a stream: random texts cut anywhere are redacted as if whole', () => {
  const random = new Random(testSeed())
  for (let round = 0; round < 500; round++) {
    const parts = Array.from({ length: random.between(1, 12) }, () =>
      random.pick(random.chance(0.4) ? SECRETS : FILLERS),
    )
    const text = parts.join(random.chance(0.5) ? ' ' : '')
    const pieces = cut(text, random, random.pick([1, 3, 10, 60]))
    expect(streamed(pieces).join(''), `seed ${random.seed}, round ${round}: ${JSON.stringify(pieces)}`).toBe(
      matcher.redact(text),
    )
  }
})

test('redaction of a stream: only a possible beginning of a match is held back', () => {
  const stream = new TextStream(new Matcher([...redactions.apiKeys, ...redactions.tokens, ...redactions.cardNumbers]))
  expect(stream.push('Hello, wor')).toBe('Hello, wor')
  expect(stream.push('ld. It costs 12')).toBe('ld. It costs ')
  expect(stream.push(' euros, sk')).toBe('12 euros, ')
  expect(stream.push('i slopes')).toBe('ski slopes')
})

test('redaction of a stream: a match longer than the limit is redacted at the limit, and so is the rest', () => {
  const long = `sk-${'a1b2'.repeat(10_000)}`
  const pieces = cut(`key ${long} end`, new Random(1), 100)
  const released = streamed(pieces)
  expect(released.join('')).toBe('key [redacted:api-key] end')
  const marked = released.findIndex((piece) => piece.includes('[redacted'))
  const held = pieces.slice(0, marked).join('').length
  expect(held).toBeGreaterThan(4000)
  expect(held).toBeLessThanOrEqual(matcher.maxHold + 'key '.length)
})

test('redaction of a stream: no more than the limit is held back if everything is a candidate', () => {
  const stream = new TextStream(new Matcher(redactions.cardNumbers))
  let released = 0
  for (let at = 0; at < 1000; at++) {
    released += stream.push('7').length
    expect(at + 1 - released).toBeLessThanOrEqual(40)
  }
})

describe('redaction of a stream that is flushed in the middle of a secret', () => {
  test('redacts the rest once it is a match', () => {
    const stream = new TextStream(matcher)
    const reported = [
      stream.push(`key ${KEY.slice(0, 8)}`),
      stream.flush(),
      stream.push(KEY.slice(8)),
      stream.push(' end.\n'),
    ]
    expect(reported.join('')).toBe('key sk-abcdE[redacted:api-key] end.\n')
  })

  test('has one mark if it was already a match', () => {
    const stream = new TextStream(matcher)
    const reported = [
      stream.push(`key ${KEY.slice(0, 26)}`),
      stream.flush(),
      stream.push(KEY.slice(26)),
      stream.push(' end.\n'),
    ]
    expect(reported.join('')).toBe('key [redacted:api-key] end.\n')
  })
})

describe('redaction of a stream: a custom pattern', () => {
  const own = new Matcher(
    toRules({ patterns: [{ name: 'badge', pattern: /(?<=no\. )B\d{4,6}/, maxChars: 7 }] }).patterns,
  )

  test('is found wherever the text is cut', () => {
    const random = new Random(testSeed())
    const text = 'no. B12345 and no. B1234, B1234 stays; no. B123456.'
    for (let round = 0; round < 300; round++)
      expect(streamed(cut(text, random, 9), own).join('')).toBe(
        'no. [redacted:badge] and no. [redacted:badge], B1234 stays; no. [redacted:badge].',
      )
  })

  test('holds the last characters back, and splits no character', () => {
    const pieces = streamed('😀😀😀😀😀😀😀😀'.split(''), own)
    expect(pieces.filter((piece) => !piece.isWellFormed())).toEqual([])
    expect(pieces.join('')).toBe('😀😀😀😀😀😀😀😀')
    expect(pieces.at(-1)).not.toBe('') // held back until the stream ended
    expect(pieces.slice(0, -1).join('')).not.toBe('') // and the rest was not
  })
})
