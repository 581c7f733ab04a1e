/** What time the servers have, whatever the clock of this machine says. */
import { expect, test } from 'vitest'
import { ServerTime } from './server-time.ts'

const SERVER_MS = Date.parse('2026-11-17T06:00:00Z')

test('the clock of a server is estimated at the middle of the round trip', () => {
  const time = new ServerTime()
  time.note(SERVER_MS, 1000, 1010)
  expect(time.now(1005)).toBe(SERVER_MS)
  expect(time.now(2005)).toBe(SERVER_MS + 1000)
})

test('an answer that came late moves the time no more than it must', () => {
  const time = new ServerTime()
  time.note(SERVER_MS, 1000, 1010)
  time.note(SERVER_MS + 500, 1400, 3000)
  expect(time.now(3000)).toBe(SERVER_MS + 1995)
})

test('a clock that was set on the servers is followed', () => {
  const time = new ServerTime()
  time.note(SERVER_MS, 1000, 1010)
  time.note(SERVER_MS - 3_600_000, 2000, 2020)
  expect(Math.abs(time.now(2010) - (SERVER_MS - 3_600_000))).toBeLessThanOrEqual(10)
})

test('server time: an answer without a time is ignored', () => {
  const time = new ServerTime()
  time.note(SERVER_MS, 1000, 1000)
  time.note(Number.NaN, 2000, 2000)
  expect(time.now(3000)).toBe(SERVER_MS + 2000)
})
