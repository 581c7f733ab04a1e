/** Measures how long the event loop is blocked, in CPU time, independent of other load. */
import { setImmediate } from 'node:timers'

/** CPU milliseconds of the longest event-loop turn during `work`. */
export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let isOver = false
  let before = threadCpuMs()
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
  return longest
}

/** CPU time of this thread. */
export function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
