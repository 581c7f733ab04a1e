/**
 * Delays commits while the event loop is saturated. Then the loop, not the disk, is the bottleneck, and larger commits cost it
 * less per event and cause fewer writes to subscribers. Without this, a fast disk would make a busy server slower than a slow
 * disk does.
 */
import { performance } from 'node:perf_hooks'

/** Interval between commit starts when the loop is never idle. */
const BUSY_EVERY_MS = 8
/** Measuring window. */
const WINDOW_MS = 50
/** Minimum idle fraction of the window. */
const IDLE_MIN = 0.02

/** Elapsed and idle time of the event loop in milliseconds. */
export interface EventLoopTimes {
  now(): number
  eventLoopUtilization(): { readonly idle: number }
}

export class Pace {
  #startedAt = 0
  #windowStart = 0
  #idleBefore = 0
  #isBusy = false
  readonly #loop: EventLoopTimes

  constructor(loop: EventLoopTimes = performance) {
    this.#loop = loop
  }

  /** Notes the start of a commit. */
  started(): void {
    this.#startedAt = this.#loop.now()
  }

  /** Milliseconds until the next commit should start. */
  wait(): number {
    const now = this.#loop.now()
    this.#measure(now)
    return this.#isBusy ? Math.max(0, this.#startedAt + BUSY_EVERY_MS - now) : 0
  }

  #measure(now: number): void {
    const window = now - this.#windowStart
    if (window < WINDOW_MS) return
    const { idle } = this.#loop.eventLoopUtilization()
    this.#isBusy = idle - this.#idleBefore < IDLE_MIN * window
    this.#windowStart = now
    this.#idleBefore = idle
  }
}
