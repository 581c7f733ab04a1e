/** Tracks when a run's agent was last active: for its timeouts, and to decide whether a sleeping run keeps its worker slot. */
import { type Clock, elapsedOf } from '../ports/clock.ts'
import type { Limits } from '../model/limits.ts'
import type { RunSlot } from '../scheduling/sleeping-runs.ts'
import type { RunFailure } from './run-failure.ts'
import { RunWatchdog } from './run-watchdog.ts'
import { SleepDetector } from './sleep-detector.ts'

export interface AgentActivityOptions {
  readonly clock: Clock
  readonly limits: Limits
  readonly slot: RunSlot
  readonly timedOut: (failure: RunFailure) => void
}

export class AgentActivity {
  /** Detects that the run does nothing but sleep. */
  readonly rest: SleepDetector
  readonly #clock: Clock
  readonly #watchdog: RunWatchdog
  #last = 0

  constructor({ clock, limits, slot, timedOut }: AgentActivityOptions) {
    this.#clock = clock
    this.rest = new SleepDetector(slot)
    this.#watchdog = new RunWatchdog(clock, limits, { lastActivity: () => this.#last, timedOut })
  }

  get last(): number {
    return this.#last
  }

  /** Starts both timeouts. */
  start(): void {
    this.touch()
    this.#watchdog.start()
  }

  stop(): void {
    this.#watchdog.stop()
  }

  /** Notes activity of the agent. */
  touch(): void {
    this.#last = elapsedOf(this.#clock)
    if (this.rest.isResting) this.rest.disturb()
  }

  /** Notes that the agent sleeps, until the returned function is called. */
  sleep(): () => void {
    const resume = this.#watchdog.suspend()
    return () => {
      this.touch()
      resume()
    }
  }
}
