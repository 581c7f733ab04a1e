/** Invalid `redact` options are rejected when a component is defined. */
import { describe, expect, test } from 'vitest'
import { HoldfastError } from '../model/errors.ts'
import { subject } from '../../../test/support/node.ts'
import { silentLogger } from '../ports/logger.ts'
import { Registry } from '../registry.ts'
import { redactingLogger } from './redacting-logger.ts'
import { type RedactOptions, toRules } from './redaction.ts'
import { Redactor, redactorOf } from './redactor.ts'
import { redactions } from './redactions.ts'

describe('redaction: options that cannot work are rejected:', () => {
  test.each<[string, unknown, string]>([
    ['no object', 'api-keys', 'must be an object'],
    ['an unknown option', { pattern: [] }, 'has no option "pattern"'],
    ['no list', { patterns: /x/ }, 'needs a list of patterns'],
    ['too many patterns', { patterns: Array.from({ length: 101 }, () => redactions.apiKeys[0]) }, 'more than 100'],
    ['a bare expression', { patterns: [/x/] }, 'undefined is not 1 to 40 lower-case letters'],
    [
      'a name that is not one',
      { patterns: [{ name: 'A b', pattern: /x/ }] },
      '"A b" is not 1 to 40 lower-case letters',
    ],
    ['a text as a pattern', { patterns: [{ name: 'a', pattern: 'x' }] }, 'is not a regular expression'],
    ['a pattern that matches nothing at all', { patterns: [{ name: 'a', pattern: /x*/ }] }, 'matches the empty text'],
    ['a bound that is none', { patterns: [{ name: 'a', pattern: /x/, maxChars: 0 }] }, 'from 1 to 65536'],
    ['a bound that is too large', { patterns: [{ name: 'a', pattern: /x/, maxChars: 1e9 }] }, 'from 1 to 65536'],
    ['no function', { patterns: [{ name: 'a', maxChars: 5 }] }, 'needs a function as find of the pattern a'],
    ['an asynchronous hook', { event: async () => {} }, 'needs a synchronous function as event'],
    [
      'an asynchronous search',
      { patterns: [{ name: 'a', maxChars: 5, find: async () => [] }] },
      'synchronous function',
    ],
  ])('%s', (_what, options, problem) => {
    expect(() => toRules(options as RedactOptions)).toThrow(problem)
    const component = { ...subject(async function* () {}), redact: options as RedactOptions }
    expect(() => new Registry([component])).toThrow(/redact/)
  })
})

test('redaction: a search that returns invalid spans, or throws, fails without revealing the text', () => {
  const failing = (find: (text: string) => never): Redactor =>
    redactorOf(undefined, { patterns: [{ name: 'own', maxChars: 9, find }] })!
  expect(() => failing(() => [{ start: 0, end: 99 }] as never).text('secret')).toThrow(
    'returned a span outside of the text',
  )
  const thrown = failing((text) => {
    throw new RangeError(text)
  })
  expect(() => thrown.text('secret')).toThrow(
    /^the pattern own of `redact` threw RangeError; the value was not written$/,
  )
})

test('redaction: object keys that become equal stay distinct, and long numbers are searched', () => {
  const redactor = redactorOf(undefined, { patterns: [redactions.cardNumbers] })!
  const value = { '4111111111111111': 1, '5555555555554444': 4111111111111111, x: [1763359200000, -7, 0.5, null, true] }
  expect(Object.entries(redactor.value(value) as object)).toEqual([
    ['[redacted:card-number]', 1],
    ['[redacted:card-number]#2', '[redacted:card-number]'],
    ['x', value.x],
  ])
})

describe('redaction: the logger', () => {
  const key = 'sk-abcdEFGH1234ijklMNOP5678qrst'
  const lines: string[] = []
  const logger = redactingLogger(
    { ...silentLogger, error: (fields, message) => void lines.push(`${JSON.stringify(fields)} ${message}`) },
    redactorOf(undefined, { patterns: [redactions.apiKeys] })!,
  )

  test('redacts messages, fields, and errors with their causes', () => {
    const err = Object.assign(new Error(key, { cause: new Error(key) }), { code: 'E' })
    logger.error({ run: 'run_1', err, details: { key } }, `failed with ${key}`)
    const line = lines.pop()!
    expect(line).not.toContain(key)
    expect(JSON.parse(line.slice(0, line.lastIndexOf('}') + 1))).toMatchObject({
      run: 'run_1',
      err: { type: 'Error', message: '[redacted:api-key]', code: 'E', cause: { message: '[redacted:api-key]' } },
      details: { key: '[redacted:api-key]' },
    })
    expect(line).toMatch(/failed with \[redacted:api-key\]$/)
  })

  test('the internal message of an error is logged, redacted', () => {
    const err = new HoldfastError('unavailable', 'try later', { internalMessage: `the store refused ${key}` })
    logger.error({ err }, 'failed')
    expect(lines.pop()).toContain('"internalMessage":"the store refused [redacted:api-key]"')
  })

  test('drops a line that cannot be redacted', () => {
    logger.error({ callback: () => key }, key)
    expect(lines.pop()).toBe('{} a log line was left out: it could not be redacted')
  })
})
