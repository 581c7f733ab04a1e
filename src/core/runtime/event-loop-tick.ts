/** Counts ticks of the event loop, on demand: code that gets the same number twice has not yielded in between. */

/** What is taken of the runtime's event loop. */
export interface EventLoop {
  /** Calls `act` in the next tick. */
  defer(act: () => void): void
  /** Calls `act` as soon as what waits now has had its turn. */
  soon(act: () => void): void
  /** Milliseconds of a clock that never steps. */
  now(): number
}

const runtimeLoop: EventLoop = {
  defer: (act) => void setImmediate(act),
  soon: (act) => void setTimeout(act, 0),
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
    counting = false // what the other loop was to call may never come
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
