/** Batches events, so that those that arrive within one animation frame are rendered together. */

export const TOGETHER_MS = 16

export class EventBatches<Event> {
  readonly #apply: (events: readonly Event[]) => void
  #events: Event[] = []
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(apply: (events: readonly Event[]) => void) {
    this.#apply = apply
  }

  add(event: Event): void {
    this.#events.push(event)
    this.#timer ??= setTimeout(() => this.flush(), TOGETHER_MS)
  }

  /** Applies the batch now, even if it is empty. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const events = this.#events
    this.#events = []
    this.#apply(events)
  }

  /** Drops the batch. */
  drop(): void {
    this.#events = []
  }
}
