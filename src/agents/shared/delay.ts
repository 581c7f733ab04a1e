/** Abortable delay inside an agent; an abort rejects immediately with the signal's reason. */
import { setImmediate as nextTick, setTimeout as timer } from 'node:timers/promises'

/** 0 waits for one tick of the event loop. */
export async function delay(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    if (ms > 0) await timer(ms, undefined, signal === undefined ? {} : { signal })
    else await nextTick()
  } finally {
    // Throws the signal's reason instead of the timer's AbortError.
    signal?.throwIfAborted()
  }
}

/** Waits for the abort; forever without a signal. */
export function untilAborted(signal?: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal?.aborted) reject(signal.reason)
    else signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
