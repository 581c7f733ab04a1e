/** Measures how long the event loop is blocked, in CPU time: independent of other load, and of the garbage of other tests. */
import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { setImmediate } from 'node:timers'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** CPU milliseconds of the longest tick of the event loop during `work`. */
export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  return (await turnsOf(work)).longestMs
}

interface Turn {
  readonly start: number
  readonly end: number
  readonly cpuMs: number
}

/** Shorter turns are not kept: there may be a million of them. */
const TURN_MIN_MS = 0.5

/**
 * CPU milliseconds of the longest tick of the event loop during `work`, and of all ticks. Collections of the whole heap are taken
 * off: when one comes, and what it costs, depends on everything that the process holds.
 */
export async function turnsOf(work: () => Promise<unknown>): Promise<{ longestMs: number; totalMs: number }> {
  const turns: Turn[] = []
  const collections: PerformanceEntry[] = []
  const observer = new PerformanceObserver((list) => void collections.push(...list.getEntries().filter(isOfWholeHeap)))
  observer.observe({ entryTypes: ['gc'] })
  let isOver = false
  let start = performance.now()
  let before = threadCpuMs()
  const look = (): void => {
    const [end, now] = [performance.now(), threadCpuMs()]
    if (now - before >= TURN_MIN_MS) turns.push({ start, end, cpuMs: now - before })
    start = end
    before = now
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  try {
    await work()
  } finally {
    isOver = true
    look()
    await nextTurn() // collections are reported a tick later
    collections.push(...observer.takeRecords().filter(isOfWholeHeap))
    observer.disconnect()
  }
  const working = turns.map((turn) => Math.max(turn.cpuMs - collectingMs(turn, collections), 0))
  return {
    longestMs: working.reduce((longest, ms) => Math.max(longest, ms), 0),
    totalMs: working.reduce((total, ms) => total + ms, 0),
  }
}

function isOfWholeHeap(entry: PerformanceEntry): boolean {
  const { detail } = entry as PerformanceEntry & { readonly detail: { readonly kind: number } }
  return detail.kind !== constants.NODE_PERFORMANCE_GC_MINOR
}

function collectingMs({ start, end }: Turn, collections: readonly PerformanceEntry[]): number {
  const within = collections.filter(({ startTime }) => startTime >= start && startTime < end)
  return within.reduce((sum, { duration }) => sum + duration, 0)
}

/** CPU time of this thread. */
export function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
