/** Merges events of concurrent work into the one generator that emits. */
import type { Event } from '../../core/model/event.ts'

interface QueuedEmission {
  readonly event: Event
  readonly onTaken: () => void
}

export class Outbox {
  #letters: QueuedEmission[] = []
  #closed = false
  #wake: () => void = () => {}

  /** Resolves when the event is in the log, so that the sender's next action comes after it. */
  send(event: Event): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    if (this.#closed) resolve()
    else this.#letters.push({ event, onTaken: resolve })
    this.#wake()
    return promise
  }

  /** No more events will be sent. */
  close(): void {
    this.#closed = true
    this.#wake()
  }

  /** Yields sent events until it is closed. */
  async *events(): AsyncGenerator<Event, void, void> {
    try {
      for (;;) {
        for (let letter = this.#letters.shift(); letter !== undefined; letter = this.#letters.shift()) {
          yield letter.event
          letter.onTaken()
        }
        if (this.#closed) return
        await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } finally {
      // The consumer stopped; senders must not wait for it.
      this.#closed = true
      for (const { onTaken: taken } of this.#letters) taken()
    }
  }
}
