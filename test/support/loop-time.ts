/**
 * Time in event-loop ticks, for bounds that must hold on a busy machine: while the process gets no CPU, no time passes.
 */
import { onTestFinished } from 'vitest'

const TICK_MS = 20

/** Milliseconds since the call, counted in ticks. */
export function startLoopTime(): () => number {
  let ticks = 0
  const ticking = setInterval(() => ticks++, TICK_MS)
  onTestFinished(() => clearInterval(ticking))
  return () => ticks * TICK_MS
}
