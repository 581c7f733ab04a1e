import { describe, expect, test } from 'vitest'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { isoTimer, systemClock, systemIds } from './clock.ts'

describe('system clock: ids', () => {
  test('have a prefix that names their kind, and 26 characters without i, l, o and u', () => {
    const ids = systemIds()
    for (let round = 0; round < 100; round++) {
      expect(ids.unique()).toMatch(/^[0-9a-hjkmnp-tv-z]{26}$/)
      expect(ids.run()).toMatch(/^run_[0-9a-hjkmnp-tv-z]{26}$/)
      expect(ids.session()).toMatch(/^ses_[0-9a-hjkmnp-tv-z]{26}$/)
    }
  })

  test('sort by creation time', () => {
    const clock = createFakeClock('1999-12-31T23:59:59.000Z')
    const ids = systemIds(clock)
    const made: string[] = []
    // Every digit of the time is carried over at least once.
    for (const step of [1, 1, 30, 31, 32, 1000, 32 ** 2, 32 ** 3, 32 ** 4, 32 ** 5, 32 ** 6, 32 ** 7, 32 ** 8]) {
      made.push(ids.run())
      clock.advance(step)
    }
    expect(made.toSorted()).toEqual(made)
  })

  test('contain their time, to the millisecond', () => {
    const clock = createFakeClock('2026-01-01T00:00:00.001Z')
    const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
    const digits = systemIds(clock).unique().slice(0, 10).split('')
    expect(digits.reduce((time, digit) => time * 32 + alphabet.indexOf(digit), 0)).toBe(clock.now())
  })

  test('are unique within a millisecond', () => {
    const ids = systemIds(createFakeClock())
    expect(new Set(Array.from({ length: 10_000 }, () => ids.unique())).size).toBe(10_000)
  })
})

test('system clock: now() is the time of the system', () => {
  const before = Date.now()
  const now = systemClock.now()
  expect(now).toBeGreaterThanOrEqual(before)
  expect(now).toBeLessThanOrEqual(Date.now())
})

test('ISO timer: each time is formatted, also one before the last', () => {
  const iso = isoTimer()
  for (const moment of [0, 0, 1, 0, 1_767_225_600_000, 1_767_225_600_000]) {
    expect(iso(moment)).toBe(new Date(moment).toISOString())
  }
})
