/** A clock that stands still until a test moves it. */
import type { Clock } from '../core/ports/clock.ts'

/** A clock that stands still until a test moves it. */
export interface FakeClock extends Clock {
  advance(milliseconds: number): void
  /** Steps the wall clock without time passing. */
  step(milliseconds: number): void
  /** The current time, as events and runs write it. */
  iso(): string
}

/** Creates a clock that stands still until a test moves it. `start`: an ISO time. */
export function createFakeClock(start = '2026-01-01T00:00:00.000Z'): FakeClock {
  let now = Date.parse(start)
  let elapsed = 0
  return {
    now: () => now,
    elapsed: () => elapsed,
    advance: (milliseconds) => {
      now += milliseconds
      elapsed += milliseconds
    },
    step: (milliseconds) => {
      now += milliseconds
    },
    iso: () => new Date(now).toISOString(),
  }
}
