/** Stops a run when its client disconnects, in protocols that start and follow a run in one request. */
import type { Service } from '../../core/service.ts'
import type { Call } from '../routing/route.ts'

/** Stops the run if the client disconnects before the response is complete. The stop is durable like any other. */
export function stopWhenGone({ response, principal, signal, logger }: Call, service: Service, run: string): void {
  const gone = (): void => {
    // The server ended the stream, not the client.
    if (response.writableEnded || service.isClosed) return
    service.stop(principal, run, 'the client disconnected').catch((cause: unknown) => {
      logger.warn({ run, err: cause }, 'failed to stop the run of a disconnected client')
    })
  }
  if (signal.aborted) gone()
  else signal.addEventListener('abort', gone, { once: true })
}
