/** Counts ticks of the event loop on demand: code that gets the same number twice has not yielded in between. */

/** The parts of the runtime's event loop in use. */
export interface EventLoop {
  /** Calls `act` in the next tick. */
  defer(act: () => void): void
  /** Calls `act` after the callbacks that are waiting now. */
  afterPending(act: () => void): void
  /** Monotonic clock, in milliseconds. */
  now(): number
}

const runtimeLoop: EventLoop = {
  defer: (act) => void setImmediate(act),
  afterPending: (act) => void setTimeout(act, 0),
  now: () => performance.now(),
}

let ticks = 0
let counting = false

/** The event loop of this process. */
export let eventLoop = runtimeLoop

/** For simulations: replaces the runtime's event loop. Returns a function that restores it. */
export function replaceEventLoop(loop: EventLoop): () => void {
  const use = (next: EventLoop): void => {
    eventLoop = next
    counting = false // callbacks of the other loop may never come
    ticks++
  }
  use(loop)
  return () => use(runtimeLoop)
}

export function eventLoopTick(): number {
  if (!counting) {
    counting = true
    eventLoop.defer(() => {
      counting = false
      ticks++
    })
  }
  return ticks
}
