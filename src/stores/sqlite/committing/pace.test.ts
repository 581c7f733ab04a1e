import { performance } from 'node:perf_hooks'
import { expect, test } from 'vitest'
import { until } from '../../../../test/support/until.ts'
import { type EventLoopTimes, Pace } from './pace.ts'

/** Longer than the interval over which the loop is measured. */
const LONG_MS = 200

/** An event loop with times that the test sets. */
class Loop implements EventLoopTimes {
  #now = 1000
  #idle = 0

  now(): number {
    return this.#now
  }

  eventLoopUtilization(): { readonly idle: number } {
    return { idle: this.#idle }
  }

  pass(milliseconds: number, idleMs: number): void {
    this.#now += milliseconds
    this.#idle += idleMs
  }
}

function opened(): { readonly loop: Loop; readonly pace: Pace } {
  const loop = new Loop()
  const pace = new Pace(loop)
  pace.wait()
  return { loop, pace }
}

/** The delay of a commit that follows another one after `milliseconds`. */
function delayAfter(pace: Pace, loop: Loop, milliseconds: number): number {
  pace.started()
  loop.pass(milliseconds, 0)
  return pace.wait()
}

test('SQLite commit pacing: a commit follows another at once if the event loop is idle now and then', () => {
  const { loop, pace } = opened()
  loop.pass(LONG_MS, LONG_MS * 0.03)
  expect(delayAfter(pace, loop, 0)).toBe(0)
})

test('SQLite commit pacing: a commit is delayed by some milliseconds only while the event loop is never idle', () => {
  const { loop, pace } = opened()
  loop.pass(LONG_MS, LONG_MS * 0.01)
  expect(delayAfter(pace, loop, 0)).toBe(8)
  expect(delayAfter(pace, loop, 3)).toBe(5)
  expect(delayAfter(pace, loop, 9)).toBe(0)
  loop.pass(LONG_MS, LONG_MS)
  expect(delayAfter(pace, loop, 0)).toBe(0)
})

test('SQLite commit pacing: an idle event loop is distinguished from a busy one', async () => {
  const before = performance.eventLoopUtilization().idle
  await until('the loop was idle', () => performance.eventLoopUtilization().idle > before)
  const idle = performance.eventLoopUtilization().idle
  for (let turns = 0; turns < 1000; turns++) await Promise.resolve()
  expect(performance.eventLoopUtilization().idle).toBe(idle)
})
