/** Waiting inside an agent: an abort ends the wait at once, with the signal's own reason. */
import { setImmediate as nextTurn, setTimeout as timer } from 'node:timers/promises'

/** Waits; 0 is one turn of the event loop. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    if (ms > 0) await timer(ms, undefined, signal === undefined ? {} : { signal })
    else await nextTurn()
  } finally {
    // Instead of the timer's AbortError: whoever aborted said why.
    signal?.throwIfAborted()
  }
}

/** Waits for the abort, for ever if there is no signal. */
export function untilAborted(signal?: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal?.aborted) reject(signal.reason)
    else signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
