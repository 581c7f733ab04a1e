/** Timers of any length. Those of the runtime fire at once beyond 2^31 - 1 milliseconds. */

import type { Clock } from '../ports/clock.ts'

/** Where timers come from. */
type Timers = Pick<Clock, 'startTimer'>

/** The longest that one timer of the runtime can wait. */
export const TIMER_MAX_MS = 2 ** 31 - 1

/** Calls `act` after so many milliseconds; never, where they are infinite. The returned function stops it. */
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

/** Calls `act` every so many milliseconds. The returned function stops it. */
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

/** Resolves after so many milliseconds; rejects when the signal is aborted. */
export function pauseFor(milliseconds: number, signal: AbortSignal, clock: Timers = {}): Promise<void> {
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
