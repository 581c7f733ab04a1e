/** From work that runs at once to the one generator that emits. */
import type { Event } from '../../core/model/event.ts'

interface QueuedEmission {
  readonly event: Event
  readonly taken: () => void
}

export class Outbox {
  #letters: QueuedEmission[] = []
  #closed = false
  #wake: () => void = () => {}

  /** Resolves when the event is in the log, so that what its sender does next comes after it. */
  send(event: Event): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    if (this.#closed) resolve()
    else this.#letters.push({ event, taken: resolve })
    this.#wake()
    return promise
  }

  /** Nothing more will be sent. */
  close(): void {
    this.#closed = true
    this.#wake()
  }

  /** What is sent, until it is closed. */
  async *events(): AsyncGenerator<Event, void, void> {
    try {
      for (;;) {
        for (let letter = this.#letters.shift(); letter !== undefined; letter = this.#letters.shift()) {
          yield letter.event
          letter.taken()
        }
        if (this.#closed) return
        await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } finally {
      // Whoever emits has no more use for events; nobody is to wait for that.
      this.#closed = true
      for (const { taken } of this.#letters) taken()
    }
  }
}
