/** A clock by which no time passes, however long a busy machine takes: no rate limit admits more, and no delay is over. */
import type { Clock } from '../../src/core/ports/clock.ts'

export const stillClock: Clock = { now: () => Date.now(), elapsed: () => 0 }
