/** Telling a remote service that its work is no longer wanted, when and only when that is this worker's to say. */
import type { RunContext } from '../../core/ports/component.ts'

/**
 * Does something once the run is stopped, as a step of it: a worker that lost its run, or gave it back, can take no step, so it
 * does not cancel what another worker goes on with. Returns what ends the waiting.
 */
export function onStop(context: RunContext, name: string, work: () => Promise<unknown>): () => void {
  const { signal, step } = context
  // The service may not be reached; the run ends as stopped all the same.
  const stop = (): void => void step(name, async () => void (await work())).catch(() => {})
  signal.addEventListener('abort', stop, { once: true })
  return () => signal.removeEventListener('abort', stop)
}
