/** State of a script's execution: the run's context, counters, and waiting. */
import type { RunContext } from '../../core/ports/component.ts'
import { delay, untilAborted } from '../shared/delay.ts'

/** Unpaced output yields to the event loop after this many events. */
const EVENTS_PER_TICK = 16

export class Stage {
  readonly context: RunContext
  readonly #counts = new Map<string, number>()
  #heedsAbort = true
  #eventsThisTick = 0

  constructor(context: RunContext) {
    this.context = context
  }

  /** Counter per kind, over the whole script: 0, 1, 2 … */
  number(kind: string): number {
    const number = this.#counts.get(kind) ?? 0
    this.#counts.set(kind, number + 1)
    return number
  }

  ignoreAbort(): void {
    this.#heedsAbort = false
  }

  /** A wait between emissions. Skipped during replay: an earlier attempt has waited. */
  async wait(ms: number): Promise<void> {
    if (!this.context.replaying) await this.work(ms, this.context.signal)
  }

  /** A wait inside a step or a tool. Never skipped: it runs only if there is no recorded result. */
  async work(ms: number, signal: AbortSignal): Promise<void> {
    await delay(ms, this.#heeded(signal))
  }

  async yieldToEventLoop(): Promise<void> {
    if (++this.#eventsThisTick < EVENTS_PER_TICK) return
    this.#eventsThisTick = 0
    await delay(0, this.#heeded(this.context.signal))
  }

  hang(): Promise<never> {
    return untilAborted(this.#heeded(this.context.signal))
  }

  #heeded(signal: AbortSignal): AbortSignal | undefined {
    return this.#heedsAbort ? signal : undefined
  }
}
