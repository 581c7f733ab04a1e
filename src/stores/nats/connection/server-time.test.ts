/** Time of the NATS servers, independent of this machine's clock. */
import { expect, test } from 'vitest'
import { ServerTime } from './server-time.ts'

const SERVER_MS = Date.parse('2026-11-17T06:00:00Z')

test('NATS server time: it is estimated at the middle of the round trip', () => {
  const time = new ServerTime()
  time.note(SERVER_MS, 1000, 1010)
  expect(time.now(1005)).toBe(SERVER_MS)
  expect(time.now(2005)).toBe(SERVER_MS + 1000)
})

test('NATS server time: a late reply changes the estimate no more than necessary', () => {
  const time = new ServerTime()
  time.note(SERVER_MS, 1000, 1010)
  time.note(SERVER_MS + 500, 1400, 3000)
  expect(time.now(3000)).toBe(SERVER_MS + 1995)
})

test('NATS server time: a clock that is set on the servers is followed', () => {
  const time = new ServerTime()
  time.note(SERVER_MS, 1000, 1010)
  time.note(SERVER_MS - 3_600_000, 2000, 2020)
  expect(Math.abs(time.now(2010) - (SERVER_MS - 3_600_000))).toBeLessThanOrEqual(10)
})

test('NATS server time: a reply without a time is ignored', () => {
  const time = new ServerTime()
  time.note(SERVER_MS, 1000, 1000)
  time.note(Number.NaN, 2000, 2000)
  expect(time.now(3000)).toBe(SERVER_MS + 2000)
})
