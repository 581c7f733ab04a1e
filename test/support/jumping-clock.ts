/** The system's clock, which a test can move ahead: timers that become due fire at once. */
import type { Clock } from '../../src/core/ports/clock.ts'

interface Timer {
  readonly due: number
  readonly fire: () => void
}

export interface JumpingClock extends Clock {
  /** Time passes. */
  pass(milliseconds: number): void
  /** Sets the wall clock; no time passes. */
  step(milliseconds: number): void
}

export function jumpingClock(): JumpingClock {
  const timers = new Set<Timer>()
  let passed = 0
  let stepped = 0
  const elapsed = (): number => performance.now() + passed
  return {
    now: () => Date.now() + passed + stepped,
    elapsed,
    startTimer(act, milliseconds) {
      const fire = (): void => {
        stop()
        act()
      }
      const handle = setTimeout(fire, Math.min(milliseconds, 2 ** 31 - 1))
      const timer = { due: elapsed() + milliseconds, fire }
      const stop = (): void => {
        clearTimeout(handle)
        timers.delete(timer)
      }
      timers.add(timer)
      return stop
    },
    pass(milliseconds) {
      passed += milliseconds
      // A copy: firing starts further timers.
      for (const timer of Array.from(timers)) if (timer.due <= elapsed()) timer.fire()
    },
    step(milliseconds) {
      stepped += milliseconds
    },
  }
}
