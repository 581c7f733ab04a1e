/** Background tasks of an engine: starts them, and stops each at shutdown. */

/** Delay of work that is not urgent, so that it does not slow down the first requests. */
const LATER_MS = 1000

export class BackgroundTasks {
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #started = new Set<Promise<unknown>>()
  readonly #beforeDrain: (() => Promise<unknown>)[] = []
  readonly #atEnd: (() => unknown)[] = []

  later(work: () => Promise<unknown>): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      const started = work().finally(() => this.#started.delete(started))
      this.#started.add(started)
    }, LATER_MS)
    timer.unref()
    this.#timers.add(timer)
  }

  beforeDrain(stop: () => Promise<unknown>): void {
    this.#beforeDrain.push(stop)
  }

  atEnd(stop: () => unknown): void {
    this.#atEnd.push(stop)
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer)
    await Promise.allSettled(this.#started)
    for (const stop of this.#beforeDrain.splice(0)) await stop()
  }

  async end(): Promise<void> {
    for (const stop of this.#atEnd.splice(0)) await stop()
  }
}
