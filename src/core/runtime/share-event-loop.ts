/**
 * Cooperative time slicing. An in-process store resolves immediately, so long read loops would starve the event loop; they await
 * `shareEventLoop` before each step. Executing runs does not use it: a claimed run that waited for a later tick could be overtaken
 * by runs that still start in this one.
 */
import { eventLoop, eventLoopTick } from './event-loop-tick.ts'

/** How long reads may take in one tick of the event loop; the others wait for the next tick. */
const READS_MS = 10
/** Requests get less: a burst arrives in one tick, and timers, commits and streams wait until it ends. */
const REQUESTS_MS = 2
/** Folding a long log serves later requests: live streams of other runs go first. */
const FOLDS_MS = 4
/** Maximum waiting loops that are resumed in one tick. */
const AT_ONCE_MAX = 64

class LoopShare {
  readonly #turnMs: number
  #tick = -1
  #began = 0
  /** FIFO queue, at most as long as the number of reads or requests in progress. */
  readonly #waiting: (() => void)[] = []
  #scheduled = 0

  constructor(turnMs: number) {
    this.#turnMs = turnMs
  }

  /** Undefined while this tick has time left; otherwise a promise that resolves in a later tick. */
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

  /** Immediates of one tick run one after another, each followed by the continuations of its promise. */
  readonly #goOn = (): void => {
    this.#scheduled--
    if (this.#hasTimeLeft()) this.#waiting.shift()?.()
    this.#schedule()
  }
}

const reads = new LoopShare(READS_MS)
const requests = new LoopShare(REQUESTS_MS)
const folds = new LoopShare(FOLDS_MS)

/** Undefined while this tick has time left; otherwise a promise that resolves in a later tick. */
export function shareEventLoop(): Promise<void> | undefined {
  return reads.take()
}

/** Like `shareEventLoop`; awaited before each client request is handled. */
export function paceRequests(): Promise<void> | undefined {
  return requests.take()
}

/** Like `shareEventLoop`, for folds of a whole log. */
export function paceFolds(): Promise<void> | undefined {
  return folds.take()
}
