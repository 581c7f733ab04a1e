/** Writes the output of a run's code: redacts it, drops what is already logged, and applies backpressure. */
import type { EncodedBatch, EncodedEvent } from './emission.ts'
import type { Actor } from '../model/event.ts'
import { eventOf } from '../model/record.ts'
import type { Replay } from '../recovery/replay.ts'
import { eventLoop, eventLoopTick } from '../runtime/event-loop-tick.ts'
import type { RunLog } from './run-log.ts'
import type { TokenUsage } from './token-usage.ts'

/** Longest time that one agent may occupy the thread. */
const TICK_MS_MAX = 10

export class ExecutionOutput {
  readonly #replay: Replay | undefined
  readonly #usage: TokenUsage
  #log: RunLog
  /** The tick of the event loop in which the agent last wrote, and when the tick began. */
  #tick = -1
  #tickStart = 0

  constructor(log: RunLog, replay: Replay | undefined, usage: TokenUsage) {
    this.#log = log
    this.#replay = replay
    this.#usage = usage
  }

  /** The current log. It changes when the run is resumed after a pause. */
  get log(): RunLog {
    return this.#log
  }

  /** Writes under a new lease from now on. Buffered text of the redaction moves to it. */
  resumeIn(log: RunLog): void {
    log.redaction = this.#log.redaction
    this.#log = log
  }

  /** Appends one event. Returns a promise if the producer must wait. `now`: when it was emitted. */
  append(encoded: EncodedEvent, now: number): Promise<void> | undefined {
    const { redaction } = this.#log
    if (redaction === undefined) this.#appendUnlessLogged(encoded)
    else for (const redacted of redaction.push(encoded)) this.#appendUnlessLogged(redacted)
    return this.#backpressure(now)
  }

  /** Appends events together: all of them, none if they are logged, or the missing part of a snapshot. */
  appendTogether(batch: EncodedBatch, now: number): Promise<void> | undefined {
    const { redaction } = this.#log
    // Redaction may buffer text, which is then logged after the event of another batch.
    if (redaction !== undefined)
      for (const encoded of batch.events)
        for (const redacted of redaction.push(encoded)) this.#appendUnlessLogged(redacted)
    else for (const encoded of this.#replay?.unlogged(batch, this.#log) ?? batch.events) this.#append(encoded)
    return this.#backpressure(now)
  }

  /** Appends text of an actor that redaction has buffered. `isEnd`: no more text follows. */
  flushBuffered(actor: Actor | undefined, isEnd: boolean): void {
    const { redaction } = this.#log
    if (redaction === undefined) return
    for (const buffered of isEnd ? redaction.end(actor) : redaction.flushBuffered(actor))
      this.#appendUnlessLogged(buffered)
  }

  /** Appends all buffered text. If the run is complete, retracts logged output that was not emitted again. */
  end(isComplete: boolean): void {
    for (const buffered of this.#log.redaction?.endAll() ?? []) this.#appendUnlessLogged(buffered)
    if (isComplete) this.#replay?.retractAll(this.#log)
  }

  #backpressure(now: number): Promise<void> | undefined {
    if (this.#log.isUnderBackpressure) return this.#log.flush()
    return this.#exceedsTimeSlice(now) ? new Promise((resolve) => eventLoop.afterPending(resolve)) : undefined
  }

  #appendUnlessLogged(encoded: EncodedEvent): void {
    if (this.#replay === undefined) return this.#append(encoded)
    for (const unlogged of this.#replay.unlogged({ events: [encoded], isSnapshot: false }, this.#log))
      this.#append(unlogged)
  }

  #append(encoded: EncodedEvent): void {
    this.#log.appendEncoded(encoded)
    if (encoded.type === 'model.responded') this.#usage.note(eventOf(encoded.body))
  }

  /** Whether the agent must yield: an agent that never waits would starve all others. */
  #exceedsTimeSlice(now: number): boolean {
    const tick = eventLoopTick()
    if (tick === this.#tick) return now - this.#tickStart >= TICK_MS_MAX
    this.#tick = tick
    this.#tickStart = now
    return false
  }
}
