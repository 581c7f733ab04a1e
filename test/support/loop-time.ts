/**
 * Time as the event loop of this process sees it: a bound that must hold on a busy machine is measured in it. Where the process gets
 * no CPU, no time passes, neither for what is measured in the same process nor for its control.
 */
import { onTestFinished } from 'vitest'

const TICK_MS = 20

/** Milliseconds since the call, in ticks of the loop. */
export function startLoopTime(): () => number {
  let ticks = 0
  const ticking = setInterval(() => ticks++, TICK_MS)
  onTestFinished(() => clearInterval(ticking))
  return () => ticks * TICK_MS
}
