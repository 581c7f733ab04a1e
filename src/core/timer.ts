/** Timers of any length. Those of the runtime fire at once beyond 2^31 - 1 milliseconds. */

/** The longest that one timer of the runtime can wait. */
export const TIMER_MAX_MS = 2 ** 31 - 1

/** Calls `act` after so many milliseconds; never, where they are infinite. The returned function stops it. */
export function startTimer(act: () => void, milliseconds: number): () => void {
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

/** Resolves after so many milliseconds; rejects when the signal is aborted. */
export function pauseFor(milliseconds: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const abort = (): void => reject(signal.reason as Error)
  if (signal.aborted) abort()
  const stop = startTimer(resolve, milliseconds)
  signal.addEventListener('abort', abort, { once: true })
  return promise.finally(() => {
    stop()
    signal.removeEventListener('abort', abort)
  })
}
