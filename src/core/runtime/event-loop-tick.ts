/** Turns of the event loop, counted as far as anyone asks: who gets the same number twice has kept the loop from going on. */
let ticks = 0
let counting = false

export function eventLoopTick(): number {
  if (!counting) {
    counting = true
    setImmediate(() => {
      counting = false
      ticks++
    })
  }
  return ticks
}
