/** Bounded buffer of events for one reader in a tab. A reader that is too slow loses its buffer and reads the log instead. */
import type { LoggedEvent } from '../../core/model/event.ts'

const EVENTS_MAX = 1000

export class Inbox {
  /** The last wait timed out without any message. */
  wasSilent = false
  #events: LoggedEvent[] = []
  #hasChanged = false
  #failure: { readonly cause: unknown } | undefined
  #wake: (() => void) | undefined

  /** Buffers an event; undefined is a heartbeat. */
  receive(event: LoggedEvent | undefined): void {
    if (event !== undefined) {
      if (this.#events.length >= EVENTS_MAX) this.#events = []
      this.#events.push(event)
    }
    this.#wake?.()
  }

  /** The log was replaced: buffered events belong to the old one. */
  change(): void {
    this.#events = []
    this.#hasChanged = true
    this.#wake?.()
  }

  /** Whether the log was replaced since the last call. */
  takeChange(): boolean {
    const hasChanged = this.#hasChanged
    this.#hasChanged = false
    return hasChanged
  }

  fail(cause: unknown): void {
    this.#failure = { cause }
    this.#wake?.()
  }

  /** The next event after a cursor, if buffered. */
  take(cursor: number): LoggedEvent | undefined {
    while (this.#events.length > 0 && this.#events[0]!.index <= cursor) this.#events.shift()
    return this.#events[0]?.index === cursor + 1 ? this.#events.shift() : undefined
  }

  /** There are later events, but not the next one. */
  get isAhead(): boolean {
    return this.#events.length > 0
  }

  /** Waits for a message; false on timeout. Throws the error of the leader's reading. */
  async wait(idleTimeoutMs: number, signal: AbortSignal | undefined): Promise<boolean> {
    this.wasSilent = !(await this.#until(() => true, idleTimeoutMs, signal))
    return !this.wasSilent
  }

  /** Waits until an event for this cursor arrives, or for the given time. Throws like `wait`. */
  async waitForNext(cursor: number, milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    const isNext = (): boolean => this.#hasChanged || this.#events.some(({ index }) => index === cursor + 1)
    if (!isNext()) await this.#until(isNext, milliseconds, signal)
  }

  /** Whether the condition became true within the time. */
  async #until(isTrue: () => boolean, milliseconds: number, signal: AbortSignal | undefined): Promise<boolean> {
    signal?.throwIfAborted()
    let isInTime = false
    if (this.#failure === undefined) {
      const { promise: over, resolve } = Promise.withResolvers<boolean>()
      const wake = (): void => {
        if (signal?.aborted === true || this.#failure !== undefined || isTrue()) resolve(true)
      }
      const timer = setTimeout(() => resolve(false), milliseconds)
      this.#wake = wake
      signal?.addEventListener('abort', wake)
      isInTime = await over
      clearTimeout(timer)
      signal?.removeEventListener('abort', wake)
      this.#wake = undefined
    }
    signal?.throwIfAborted()
    if (this.#failure !== undefined) throw this.#failure.cause
    return isInTime
  }
}
