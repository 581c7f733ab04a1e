/**
 * Watches the main thread's heartbeat. When it stops, inspects the main thread with V8's debugger and writes the result to stderr
 * immediately, since the main thread may never resume.
 */
import { writeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { inspectMainThread } from './inspect-main-thread.ts'
import type { BlockingRun, WatchdogData } from './messages.ts'

const { heartbeat, lookMs, maxLooks } = workerData as WatchdogData
const beats = new Int32Array(heartbeat)
let last = 0
let missed = 0

setInterval(() => {
  const now = Atomics.load(beats, 0)
  missed = now === last ? missed + 1 : 0
  last = now
  if (missed === maxLooks) void report()
}, lookMs)

async function report(): Promise<void> {
  const blockedAt = last
  const suspect = await inspectMainThread(() => Atomics.load(beats, 0) === blockedAt)
  if (suspect === undefined) return // no longer blocked
  writeLine(suspect)
  parentPort!.postMessage(suspect)
}

/** Same format as the command line's logger. */
function writeLine({ frames, ...whose }: BlockingRun): void {
  const time = new Date().toISOString()
  const msg = `the event loop has been blocked for ${lookMs * maxLooks} ms`
  try {
    writeSync(2, `${JSON.stringify({ level: 40, time, ...whose, frames, msg })}\n`)
  } catch {
    // stderr is closed or full
  }
}
