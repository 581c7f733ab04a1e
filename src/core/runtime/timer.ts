/** Timers of any length. The runtime's own timers fire immediately above 2^31 - 1 milliseconds. */

import type { Clock } from '../ports/clock.ts'

/** Source of timers. */
type Timers = Pick<Clock, 'startTimer'>

/** Maximum delay of a timer of the runtime. */
export const TIMER_MAX_MS = 2 ** 31 - 1

/** Calls `act` after a delay; never if it is infinite. The returned function stops it. */
export function startTimer(act: () => void, milliseconds: number, clock: Timers = {}): () => void {
  if (clock.startTimer !== undefined) return clock.startTimer(act, milliseconds)
  let rest = milliseconds
  let timer: ReturnType<typeof setTimeout>
  const wait = (): void => {
    const slice = Math.min(Math.max(rest, 0), TIMER_MAX_MS)
    rest -= slice
    timer = setTimeout(() => (rest > 0 ? wait() : act()), slice)
  }
  wait()
  return () => clearTimeout(timer)
}

/** Calls `act` at this interval. The returned function stops it. */
export function repeatTimer(act: () => void, milliseconds: number, clock: Timers = {}): () => void {
  let stop: () => void
  const wait = (): void => {
    stop = startTimer(
      () => {
        wait()
        act()
      },
      milliseconds,
      clock,
    )
  }
  wait()
  return () => stop()
}

/** Resolves after a delay; rejects when the signal is aborted. */
export function delay(milliseconds: number, signal: AbortSignal, clock: Timers = {}): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const abort = (): void => reject(signal.reason as Error)
  if (signal.aborted) abort()
  const stop = startTimer(resolve, milliseconds, clock)
  signal.addEventListener('abort', abort, { once: true })
  return promise.finally(() => {
    stop()
    signal.removeEventListener('abort', abort)
  })
}
