/** Where a script is performed: the run's context, what was counted so far, and how it waits. */
import type { RunContext } from '../../core/ports/component.ts'
import { pause, untilAborted } from '../shared/pause.ts'

/** Unpaced output leaves the event loop to others after this many events. */
const EVENTS_PER_TICK = 16

export class Stage {
  readonly context: RunContext
  readonly #counts = new Map<string, number>()
  #heedsAbort = true
  #eventsThisTick = 0

  constructor(context: RunContext) {
    this.context = context
  }

  /** 0, 1, 2 … for each kind of thing, over the whole script. */
  number(kind: string): number {
    const number = this.#counts.get(kind) ?? 0
    this.#counts.set(kind, number + 1)
    return number
  }

  ignoreAbort(): void {
    this.#heedsAbort = false
  }

  /** A wait between emissions. What the log already holds was waited for in an earlier attempt. */
  async wait(ms: number): Promise<void> {
    if (!this.context.replaying) await this.work(ms, this.context.signal)
  }

  /** A wait inside a step or a tool: it runs only when there is no recorded result, so it is never skipped. */
  async work(ms: number, signal: AbortSignal): Promise<void> {
    await pause(ms, this.#heeded(signal))
  }

  async breathe(): Promise<void> {
    if (++this.#eventsThisTick < EVENTS_PER_TICK) return
    this.#eventsThisTick = 0
    await pause(0, this.#heeded(this.context.signal))
  }

  hang(): Promise<never> {
    return untilAborted(this.#heeded(this.context.signal))
  }

  #heeded(signal: AbortSignal): AbortSignal | undefined {
    return this.#heedsAbort ? signal : undefined
  }
}
