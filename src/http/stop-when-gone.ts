/** What becomes of a run whose client leaves, on wires where starting and watching are one request. */
import type { Service } from '../core/service.ts'
import type { Call } from './route.ts'

/** Stops a run whose client leaves before its answer is whole. The stop is as durable as any other. */
export function stopWhenGone({ response, principal, signal, logger }: Call, service: Service, run: string): void {
  const gone = (): void => {
    // That the server ends its streams is not the client's leaving.
    if (response.writableEnded || service.closed) return
    service.stop(principal, run, 'the client disconnected').catch((cause: unknown) => {
      logger.warn({ run, err: cause }, 'a run whose client left could not be stopped')
    })
  }
  if (signal.aborted) gone()
  else signal.addEventListener('abort', gone, { once: true })
}
