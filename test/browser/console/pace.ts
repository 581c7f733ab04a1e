/** Responsiveness of a page: its longest task, and the delay from a key press to the change on screen. */
import type { BrowserContext, Page } from 'playwright-core'

export interface Pace {
  /** Number of tasks that blocked the page for more than 50 ms, and the longest. */
  readonly longTasks: number
  readonly longestTaskMs: number
  /** Longest delay from a key press to the next frame. Delays shorter than a frame are 0. */
  readonly longestKeyMs: number
}

interface Watched {
  readonly tasks: number[]
  readonly keys: number[]
}

declare const watched: Watched

/** For every page that is opened in it from now on. */
export function watchPace(context: BrowserContext): Promise<unknown> {
  return context.addInitScript(() => {
    const seen: Watched = { tasks: [], keys: [] }
    Object.assign(globalThis, { watched: seen })
    for (const [type, into] of [
      ['longtask', seen.tasks],
      ['event', seen.keys],
    ] as const)
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries())
          if (type === 'longtask' || entry.name === 'keydown') into.push(entry.duration)
      }).observe({ type, buffered: true, ...(type === 'event' && { durationThreshold: 16 }) })
  })
}

/** Since the page was opened, or since the last call. */
export async function paceOf(page: Page): Promise<Pace> {
  const { tasks, keys } = await page.evaluate(() => ({
    tasks: watched.tasks.splice(0),
    keys: watched.keys.splice(0),
  }))
  return { longTasks: tasks.length, longestTaskMs: longest(tasks), longestKeyMs: longest(keys) }
}

function longest(durations: readonly number[]): number {
  return Math.round(Math.max(0, ...durations))
}
