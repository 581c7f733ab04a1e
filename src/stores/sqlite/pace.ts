/**
 * How soon a commit may follow another: at once, unless the event loop has no idle time left. Then the loop is what is short,
 * and not the disk; a larger commit costs it less for each event, and fewer writes to those who follow. Without this a fast
 * disk would make a busy server slower than a slow one does.
 */
import { performance } from 'node:perf_hooks'

/** From the start of one commit to that of the next, when the loop is never idle. */
const BUSY_EVERY_MS = 8
/** How long the loop is looked at to tell. */
const WINDOW_MS = 50
/** Part of that time in which it must have had nothing to do. */
const IDLE_MIN = 0.02

/** The time, and how much of it the event loop has been idle, in milliseconds. */
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

  /** A commit starts. */
  started(): void {
    this.#startedAt = this.#loop.now()
  }

  /** Milliseconds until the next one should. */
  wait(): number {
    const now = this.#loop.now()
    this.#look(now)
    return this.#isBusy ? Math.max(0, this.#startedAt + BUSY_EVERY_MS - now) : 0
  }

  #look(now: number): void {
    const window = now - this.#windowStart
    if (window < WINDOW_MS) return
    const { idle } = this.#loop.eventLoopUtilization()
    this.#isBusy = idle - this.#idleBefore < IDLE_MIN * window
    this.#windowStart = now
    this.#idleBefore = idle
  }
}
