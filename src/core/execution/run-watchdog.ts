/** Detects that a run exceeds its deadline or its agent the idle timeout. */
import { type Clock, elapsedOf } from '../ports/clock.ts'
import { RunFailure } from './run-failure.ts'
import type { Limits } from '../model/limits.ts'
import { startTimer } from '../runtime/timer.ts'

export interface WatchedRun {
  /** When the agent last did something. Polled, because a notification per event would cost more. */
  lastActivity(): number
  timedOut(failure: RunFailure): void
}

export class RunWatchdog {
  readonly #clock: Clock
  readonly #limits: Limits
  readonly #watched: WatchedRun
  #deadline = 0
  #stopTimer: (() => void) | undefined
  #asleep = 0
  #asleepSince = 0

  constructor(clock: Clock, limits: Limits, watched: WatchedRun) {
    this.#clock = clock
    this.#limits = limits
    this.#watched = watched
  }

  start(): void {
    this.#deadline = elapsedOf(this.#clock) + this.#limits.runTimeoutMs
    this.#wait()
  }

  stop(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
  }

  /** Stops both timeouts while the agent sleeps, until the returned function is called. */
  suspend(): () => void {
    if (this.#asleep++ === 0) this.#asleepSince = elapsedOf(this.#clock)
    return () => {
      if (--this.#asleep === 0) this.#deadline += elapsedOf(this.#clock) - this.#asleepSince
    }
  }

  #wait(): void {
    const due = Math.min(this.#deadline, this.#watched.lastActivity() + this.#limits.runIdleTimeoutMs)
    this.#stopTimer = startTimer(() => this.#check(), Math.max(due - elapsedOf(this.#clock), 1), this.#clock)
  }

  /** Polls rarely while the agent sleeps: the idle timeout restarts at the end of the sleep, so a delay does not matter. */
  #waitAsleep(): void {
    this.#stopTimer = startTimer(
      () => this.#check(),
      Math.min(this.#limits.runIdleTimeoutMs, ASLEEP_LOOK_MS),
      this.#clock,
    )
  }

  #check(): void {
    const now = elapsedOf(this.#clock)
    const { runTimeoutMs, runIdleTimeoutMs } = this.#limits
    if (this.#asleep > 0) this.#waitAsleep()
    else if (now >= this.#deadline)
      this.#watched.timedOut(new RunFailure('deadline_exceeded', `the run took longer than ${runTimeoutMs} ms`))
    else if (now >= this.#watched.lastActivity() + runIdleTimeoutMs)
      this.#watched.timedOut(new RunFailure('idle_timeout', `the agent emitted nothing for ${runIdleTimeoutMs} ms`))
    else this.#wait()
  }
}

/** Interval at which a sleeping run is checked. */
const ASLEEP_LOOK_MS = 60_000
