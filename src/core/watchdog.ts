/** Notices that a run takes too long, or that its agent has been silent for too long. */
import type { Clock } from './clock.ts'
import { RunFailure } from './emission.ts'
import type { Limits } from './limits.ts'

/** Node's timers cannot wait longer than this. */
const TIMER_MAX_MS = 2 ** 31 - 1

export interface Watched {
  /** When the agent last said something: asked when it matters and not told, since that would be for every event. */
  lastActivity(): number
  timedOut(failure: RunFailure): void
}

export class Watchdog {
  readonly #clock: Clock
  readonly #limits: Limits
  readonly #watched: Watched
  #deadline = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(clock: Clock, limits: Limits, watched: Watched) {
    this.#clock = clock
    this.#limits = limits
    this.#watched = watched
  }

  start(): void {
    this.#deadline = this.#clock.now() + this.#limits.runDeadlineMs
    this.#wait()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #wait(): void {
    const due = Math.min(this.#deadline, this.#watched.lastActivity() + this.#limits.runIdleMs)
    const delay = Math.min(Math.max(due - this.#clock.now(), 1), TIMER_MAX_MS)
    this.#timer = setTimeout(() => this.#check(), delay)
  }

  #check(): void {
    const now = this.#clock.now()
    const { runDeadlineMs, runIdleMs } = this.#limits
    if (now >= this.#deadline)
      this.#watched.timedOut(new RunFailure('deadline_exceeded', `the run took longer than ${runDeadlineMs} ms`))
    else if (now >= this.#watched.lastActivity() + runIdleMs)
      this.#watched.timedOut(new RunFailure('idle_timeout', `the agent was silent for ${runIdleMs} ms`))
    else this.#wait()
  }
}
