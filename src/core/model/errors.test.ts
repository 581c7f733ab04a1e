import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { errorsPage, errorsPagePath } from '../../../scripts/gen-errors-doc.ts'
import { assert, type ErrorCode, errorTable, HoldfastError, isHoldfastError, messageOf } from './errors.ts'

const codes = Object.keys(errorTable) as ErrorCode[]

test('docs/errors.md is up to date with node scripts/gen-errors-doc.ts', () => {
  expect(readFileSync(errorsPagePath, 'utf8')).toBe(errorsPage())
})

describe('the table of errors', () => {
  test.each(codes)('%s has an error status and a meaning', (code) => {
    const { status, meaning } = errorTable[code]
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(600)
    expect(meaning).toMatch(/^[A-Z].*\.$/)
    expect(meaning).not.toMatch(/[|\n]/)
  })

  test('an error has the status of its code, and whether it is retryable', () => {
    for (const code of codes) {
      const { status, retryable } = errorTable[code]
      expect(new HoldfastError(code, 'what happened')).toMatchObject({
        code,
        status,
        retryable,
        message: 'what happened',
      })
    }
  })
})

test('errors: the message is truncated, whatever it quotes', () => {
  expect(new HoldfastError('invalid_request', 'x'.repeat(4_000_000)).message).toBe('x'.repeat(10_000))
})

test('errors: cause, details and retry delay are kept', () => {
  const cause = new Error('below')
  const error = new HoldfastError('rate_limited', 'later', { cause, details: { run: 'run_1' }, retryAfterMs: 500 })
  expect(error).toMatchObject({ cause, details: { run: 'run_1' }, retryAfterMs: 500, name: 'HoldfastError' })
  expect(new HoldfastError('internal', 'now')).not.toHaveProperty('cause')
})

test('errors: isHoldfastError matches by code', () => {
  const error = new HoldfastError('not_found', 'no run')
  expect(isHoldfastError(error)).toBe(true)
  expect(isHoldfastError(error, 'not_found')).toBe(true)
  expect(isHoldfastError(error, 'conflict')).toBe(false)
  expect(isHoldfastError(Object.assign(new Error('no run'), { code: 'not_found' }))).toBe(false)
})

class Unreadable extends Error {
  override get message(): string {
    throw new Error('no')
  }
}

describe('errors: anything that can be thrown has a message:', () => {
  test.each<[string, unknown, string]>([
    ['an error', new Error('boom'), 'boom'],
    ['an error without a message', new TypeError(), 'TypeError'],
    ['a string', 'boom', 'boom'],
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a number', 404, '404'],
    ['an object', { code: 1 }, '[object Object]'],
    ['an object that cannot be shown', Object.create(null), 'a value that cannot be shown'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['an error whose message cannot be read', new Unreadable(), 'a value that cannot be shown'],
    ['an error whose message is not text', Object.assign(new Error('a'), { message: { code: 7 } }), '[object Object]'],
    ['an error whose message is nothing', Object.assign(new Error('a'), { message: undefined, name: 'Odd' }), 'Odd'],
  ])('%s', (_, thrown, message) => expect(messageOf(thrown)).toBe(message))
})

test('errors: a failed assertion has its message', () => {
  expect(() => assert(codes.length > 0, 'there are codes')).not.toThrow()
  expect(() => assert(codes.length < 0, 'there are none')).toThrow('assertion failed: there are none')
})
