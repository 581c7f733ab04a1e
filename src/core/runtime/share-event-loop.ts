/**
 * Shares the event loop. A store in this process answers with promises that are resolved already, so a loop that reads from it
 * awaits nothing that lets others run. Whatever may read much awaits `shareLoop` before each step. Runs do not execute through
 * here: a claimed run that waited for a turn would be overtaken by others that fit into this one.
 */
import { eventLoop, eventLoopTick } from './event-loop-tick.ts'

/** Of one turn of the event loop, how long reads may take before the rest of them waits for the next turn. */
const READS_MS = 10
/** Requests get less: a burst of them comes in one turn, and timers, commits and streams of runs wait for its end. */
const REQUESTS_MS = 2
/** Waiting loops that are looked at in one turn. */
const AT_ONCE_MAX = 64

class LoopShare {
  readonly #turnMs: number
  #tick = -1
  #began = 0
  /** First come, first served; at most as many as there are reads or requests under way. */
  readonly #waiting: (() => void)[] = []
  #scheduled = 0

  constructor(turnMs: number) {
    this.#turnMs = turnMs
  }

  /** Undefined while this turn has time left; else a promise that resolves in a later one. */
  take(): Promise<void> | undefined {
    if (this.#hasTimeLeft()) return undefined
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.#schedule()
    })
  }

  #hasTimeLeft(): boolean {
    const current = eventLoopTick()
    const now = eventLoop.now()
    if (current !== this.#tick) {
      this.#tick = current
      this.#began = now
    }
    return now - this.#began < this.#turnMs
  }

  #schedule(): void {
    for (; this.#scheduled < Math.min(this.#waiting.length, AT_ONCE_MAX); this.#scheduled++) eventLoop.defer(this.#goOn)
  }

  /** Immediates of one turn run one after the other, each with all that its promise leads to. */
  readonly #goOn = (): void => {
    this.#scheduled--
    if (this.#hasTimeLeft()) this.#waiting.shift()?.()
    this.#schedule()
  }
}

const reads = new LoopShare(READS_MS)
const requests = new LoopShare(REQUESTS_MS)

/** Undefined while this turn has time left; else a promise that resolves in a later one. */
export function shareEventLoop(): Promise<void> | undefined {
  return reads.take()
}

/** The same before each request of a client is handled. */
export function paceRequests(): Promise<void> | undefined {
  return requests.take()
}
