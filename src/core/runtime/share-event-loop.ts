/**
 * Shares the event loop. A store in this process answers with promises that are resolved already, so a loop that reads from it
 * awaits nothing that lets others run. Whatever may read much awaits `shareLoop` before each step. Runs do not execute through
 * here: a claimed run that waited for a turn would be overtaken by others that fit into this one.
 */
import { eventLoop, eventLoopTick } from './event-loop-tick.ts'

/** How long the work of one turn of the event loop may take before the rest of it waits for the next turn. */
const TICK_MS = 10
/** Waiting loops that are looked at in one turn. */
const AT_ONCE_MAX = 64

let tick = -1
let began = 0
/** First come, first served; at most as many as there are reads under way. */
const waiting: (() => void)[] = []
let scheduled = 0

/** Undefined while this turn has time left; else a promise that resolves in a later one. */
export function shareEventLoop(): Promise<void> | undefined {
  if (hasTimeLeft()) return undefined
  return new Promise((resolve) => {
    waiting.push(resolve)
    schedule()
  })
}

function hasTimeLeft(): boolean {
  const current = eventLoopTick()
  const now = eventLoop.now()
  if (current !== tick) {
    tick = current
    began = now
  }
  return now - began < TICK_MS
}

function schedule(): void {
  for (; scheduled < Math.min(waiting.length, AT_ONCE_MAX); scheduled++) eventLoop.defer(goOn)
}

/** Immediates of one turn run one after the other, each with all that its promise leads to. */
function goOn(): void {
  scheduled--
  if (hasTimeLeft()) waiting.shift()?.()
  schedule()
}
