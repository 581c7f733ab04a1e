import type { RangeResult } from './seed-range.ts'

/** Ranges that follow each other, added up. */
export class RangeSum {
  readonly #from: number
  #sum: RangeResult

  constructor(from: number) {
    this.#from = from
    this.#sum = { from, to: from - 1, events: 0, steps: 0, cpuSeconds: 0, failures: [] }
  }

  get result(): RangeResult {
    return { ...this.#sum, cpuSeconds: Math.round(this.#sum.cpuSeconds * 10) / 10 }
  }

  get to(): number {
    return this.#sum.to
  }

  get count(): number {
    return this.#sum.to - this.#from + 1
  }

  add({ to, events, steps, cpuSeconds, failures }: RangeResult): void {
    const sum = this.#sum
    this.#sum = {
      from: this.#from,
      to,
      events: sum.events + events,
      steps: sum.steps + steps,
      cpuSeconds: sum.cpuSeconds + cpuSeconds,
      failures: [...sum.failures, ...failures],
    }
  }

  describe(elapsedMs: number, workers: number): string {
    const { events, steps, cpuSeconds, failures } = this.#sum
    const elapsed = elapsedMs / 1000
    const failed =
      failures.length > 0
        ? `: ${failures
            .slice(0, 50)
            .map(({ seed }) => seed)
            .join(' ')}`
        : ''
    return (
      `${this.count} seeds from ${this.#from} in ${elapsed.toFixed(1)} s: ${(this.count / elapsed).toFixed(1)} seeds/s on ${workers} threads, ` +
      `${(this.count / cpuSeconds).toFixed(1)} per second of CPU; per seed ${Math.round(events / this.count)} events, ` +
      `${Math.round(steps / this.count)} steps; ${failures.length} failed${failed}`
    )
  }
}
