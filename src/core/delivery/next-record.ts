/** Waits for the next record of a log. */
import type { Clock } from '../ports/clock.ts'
import type { Sink, Subscription } from './subscription.ts'
import { startTimer } from '../runtime/timer.ts'

/** Resolves with true when the subscription has something to deliver, with false at the timeout or abort. */
export async function nextRecord(
  subscribe: (sink: Sink) => Subscription,
  timeoutMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  if (signal.aborted) return false
  const more = Promise.withResolvers<boolean>()
  const stopTimer = startTimer(() => more.resolve(false), timeoutMs, clock)
  signal.addEventListener('abort', () => more.resolve(false), { once: true })
  const sink: Sink = {
    write: () => (more.resolve(true), false),
    finished: () => more.resolve(true),
    failed: more.reject,
  }
  let subscription: Subscription | undefined
  try {
    subscription = subscribe(sink)
    return await more.promise
  } finally {
    stopTimer()
    subscription?.close()
  }
}
