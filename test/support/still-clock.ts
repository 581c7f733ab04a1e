/** A clock that stands still: no rate limit refills, and no delay passes. */
import type { Clock } from '../../src/core/ports/clock.ts'

export const stillClock: Clock = { now: () => Date.now(), elapsed: () => 0 }
