/** Polls for a condition, with a timeout. */
import { setTimeout as wait } from 'node:timers/promises'

export interface UntilOptions {
  readonly withinMs?: number
  readonly everyMs?: number
}

/** Resolves with the first result of `look`. `what` may be a function, to describe the state at the timeout. */
export async function until<Found>(
  what: string | (() => string),
  look: () => Found | undefined | false | Promise<Found | undefined | false>,
  { withinMs = 180_000, everyMs = 20 }: UntilOptions = {},
): Promise<Found> {
  const deadline = Date.now() + withinMs
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (Date.now() > deadline)
      throw new Error(`timed out after ${withinMs} ms: ${typeof what === 'string' ? what : what()}`)
    await wait(everyMs)
  }
}
