/** How long the event loop is held: in CPU time of this thread, so that a busy machine changes nothing. */
import { setImmediate } from 'node:timers'

/** Milliseconds of CPU in the longest turn of the event loop while `work` was under way. */
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
