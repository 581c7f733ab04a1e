/** Counts durable events and measures a range of them. */

export interface Rate {
  readonly eventsPerSecond: number
  readonly cpuMicrosPerEvent: number
}

interface Mark {
  readonly ms: number
  readonly cpuMicros: number
}

export class Meter {
  readonly #before: number
  readonly #events: number
  #durable = 0
  #start: Mark | undefined
  #end: Mark | undefined

  /** `before`: events to skip first. */
  constructor(before: number, events: number) {
    this.#before = before
    this.#events = events
  }

  get isDone(): boolean {
    return this.#end !== undefined
  }

  add(events: number): void {
    this.#durable += events
    if (this.#durable >= this.#before) this.#start ??= mark()
    if (this.#durable >= this.#before + this.#events) this.#end ??= mark()
  }

  get rate(): Rate {
    const [start, end] = [this.#start!, this.#end!]
    return {
      eventsPerSecond: (this.#events / (end.ms - start.ms)) * 1000,
      cpuMicrosPerEvent: (end.cpuMicros - start.cpuMicros) / this.#events,
    }
  }
}

function mark(): Mark {
  const { user, system } = process.cpuUsage()
  return { ms: performance.now(), cpuMicros: user + system }
}
