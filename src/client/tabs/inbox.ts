/** What a reader was told and has not taken yet. Bounded: one that is too slow loses what it was told, and reads the log. */
import type { LoggedEvent } from '../../core/model/event.ts'

const EVENTS_MAX = 1000

export class Inbox {
  /** The last wait ended with nothing heard. */
  wasSilent = false
  #events: LoggedEvent[] = []
  #hasChanged = false
  #failure: { readonly cause: unknown } | undefined
  #wake: (() => void) | undefined

  /** Undefined is a sign of life. */
  hear(event: LoggedEvent | undefined): void {
    if (event !== undefined) {
      if (this.#events.length >= EVENTS_MAX) this.#events = []
      this.#events.push(event)
    }
    this.#wake?.()
  }

  /** The log is another one: what was told is of the old one. */
  change(): void {
    this.#events = []
    this.#hasChanged = true
    this.#wake?.()
  }

  /** Whether the log has become another one since this was asked last. */
  takeChange(): boolean {
    const hasChanged = this.#hasChanged
    this.#hasChanged = false
    return hasChanged
  }

  fail(cause: unknown): void {
    this.#failure = { cause }
    this.#wake?.()
  }

  /** The next event after a cursor, if it was told. */
  take(cursor: number): LoggedEvent | undefined {
    while (this.#events.length > 0 && this.#events[0]!.index <= cursor) this.#events.shift()
    return this.#events[0]?.index === cursor + 1 ? this.#events.shift() : undefined
  }

  /** There are later events than the one that is next. */
  get isAhead(): boolean {
    return this.#events.length > 0
  }

  /** Waits until something is heard; false when nothing is for too long. Throws what the reading of the log failed with. */
  async wait(idleTimeoutMs: number, signal: AbortSignal | undefined): Promise<boolean> {
    this.wasSilent = !(await this.#until(() => true, idleTimeoutMs, signal))
    return !this.wasSilent
  }

  /** Waits for so long, or until there is something for a reader at this cursor. Throws as `wait` does. */
  async waitForNext(cursor: number, milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    const isNext = (): boolean => this.#hasChanged || this.#events.some(({ index }) => index === cursor + 1)
    if (!isNext()) await this.#until(isNext, milliseconds, signal)
  }

  /** Whether it came true, as something was heard, within the time. */
  async #until(isTrue: () => boolean, milliseconds: number, signal: AbortSignal | undefined): Promise<boolean> {
    signal?.throwIfAborted()
    let came = false
    if (this.#failure === undefined) {
      const { promise: over, resolve } = Promise.withResolvers<boolean>()
      const wake = (): void => {
        if (signal?.aborted === true || this.#failure !== undefined || isTrue()) resolve(true)
      }
      const timer = setTimeout(() => resolve(false), milliseconds)
      this.#wake = wake
      signal?.addEventListener('abort', wake)
      came = await over
      clearTimeout(timer)
      signal?.removeEventListener('abort', wake)
      this.#wake = undefined
    }
    signal?.throwIfAborted()
    if (this.#failure !== undefined) throw this.#failure.cause
    return came
  }
}
