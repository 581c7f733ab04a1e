/** Cancels remote work when the run is stopped, but only from the worker that holds the lease. */
import type { RunContext } from '../../core/ports/component.ts'
import { INTERNAL } from './leg.ts'

/**
 * Runs `work` as a step once the run is stopped. A worker that lost or released its lease cannot record a step, so it does not
 * cancel work that another worker continues. Returns an unsubscribe function.
 */
export function onStop(context: RunContext, name: string, work: () => Promise<unknown>): () => void {
  const { signal, step } = context
  // The service may be unreachable; the run ends as stopped anyway.
  const stop = (): void => void step(name, async () => void (await work()), { details: INTERNAL }).catch(() => {})
  signal.addEventListener('abort', stop, { once: true })
  return () => signal.removeEventListener('abort', stop)
}
