/** Measures how long the event loop is blocked, in CPU time, independent of other load. */
import { setImmediate } from 'node:timers'

/** CPU milliseconds of the longest event-loop turn during `work`. */
export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  return (await turnsOf(work)).longestMs
}

/**
 * The least of several tries, until one is below `enoughMs`: a stall that belongs to the work is in each of them, one of the machine or
 * of the garbage collector is not.
 */
export async function leastTurnMs(work: () => Promise<unknown>, enoughMs: number, triesMax: number): Promise<number> {
  let least = Infinity
  for (let tries = 0; tries < triesMax && least >= enoughMs; tries++) least = Math.min(least, await longestTurnMs(work))
  return least
}

/** CPU milliseconds of the longest event-loop turn during `work`, and of all of them. */
export async function turnsOf(work: () => Promise<unknown>): Promise<{ longestMs: number; totalMs: number }> {
  let longest = 0
  let isOver = false
  const start = threadCpuMs()
  let before = start
  const look = (): void => {
    const now = threadCpuMs()
    longest = Math.max(longest, now - before)
    before = now
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  try {
    await work()
  } finally {
    isOver = true
  }
  return { longestMs: longest, totalMs: threadCpuMs() - start }
}

/** CPU time of this thread. */
export function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
