/** Collects events, so that those that arrive within one frame of the screen are shown together. */

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

  /** Applies what was collected, now. Called also if that is nothing. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const events = this.#events
    this.#events = []
    this.#apply(events)
  }

  /** Forgets what was collected. */
  drop(): void {
    this.#events = []
  }
}
