/** Resolves when no run executes in this process, for `waitUntil` of platforms that freeze a process after its response. */
import type { Engine } from '../server/engine.ts'
import type { HttpResponse } from '../http/exchange.ts'

const LOOK_EVERY_MS = 100

/**
 * Resolves when the response has been sent or aborted, and no run executes in this process. Sleeping runs wake up in another
 * process.
 */
export async function untilIdle(response: HttpResponse, engine: () => Engine | undefined): Promise<void> {
  if (!response.destroyed && !response.writableFinished)
    await new Promise<void>((resolve) => response.once('close', resolve))
  while ((engine()?.service.load().running ?? 0) > 0) await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
}
