/** Waiting for something to become true, within a bound. */
import { setTimeout as wait } from 'node:timers/promises'

export interface UntilOptions {
  readonly withinMs?: number
  readonly everyMs?: number
}

/** What `look` finds, once it finds something. `what` may be computed, to say at the end what was there instead. */
export async function until<Found>(
  what: string | (() => string),
  look: () => Found | undefined | false | Promise<Found | undefined | false>,
  { withinMs = 60_000, everyMs = 20 }: UntilOptions = {},
): Promise<Found> {
  const deadline = Date.now() + withinMs
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (Date.now() > deadline)
      throw new Error(`within ${withinMs} ms it did not happen that ${typeof what === 'string' ? what : what()}`)
    await wait(everyMs)
  }
}
