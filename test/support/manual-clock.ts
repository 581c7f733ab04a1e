/** A manual clock: time and timers only advance when the test says so. */
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { createFakeClock, type FakeClock } from '../../src/testing/fake-clock.ts'

interface Timer {
  readonly due: number
  readonly act: () => void
}

/** Event-loop turns after which all work that needs no time is done. */
const SETTLING_TURNS = 5

export class ManualClock implements FakeClock {
  readonly #clock: FakeClock
  readonly #timers = new Set<Timer>()
  readonly #settle: () => Promise<void>
  /** Bound, because `Clock` methods may be detached. */
  readonly now = (): number => this.#clock.now()
  readonly elapsed = (): number => this.#clock.elapsed!()
  readonly iso = (): string => this.#clock.iso()
  readonly step = (milliseconds: number): void => this.#clock.step(milliseconds)

  /** `settled`: resolves when all work that needs no time is done. */
  constructor(start?: string, settled: () => Promise<void> = settle) {
    this.#clock = createFakeClock(start)
    this.#settle = settled
  }

  /** Number of pending timers. */
  get timers(): number {
    return this.#timers.size
  }

  readonly startTimer = (act: () => void, milliseconds: number): (() => void) => {
    const timer: Timer = { due: this.elapsed() + Math.max(milliseconds, 0), act }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  /** Advances the time and fires due timers, without waiting for their effects. */
  readonly advance = (milliseconds: number): void => {
    const until = this.elapsed() + milliseconds
    for (let timer; (timer = this.#next(until)) !== undefined;) this.#fire(timer)
    this.#clock.advance(until - this.elapsed())
  }

  /** Lets time pass: the effects of each timer complete before the next one fires. */
  readonly pass = async (milliseconds: number): Promise<void> => {
    const until = this.elapsed() + milliseconds
    await this.#settle()
    for (let timer; (timer = this.#next(until)) !== undefined;) {
      this.#fire(timer)
      await this.#settle()
    }
    this.#clock.advance(until - this.elapsed())
    await this.#settle()
  }

  #next(until: number): Timer | undefined {
    let first: Timer | undefined
    for (const timer of this.#timers) {
      if (timer.due <= until && (first === undefined || timer.due < first.due)) first = timer
    }
    return first
  }

  #fire(timer: Timer): void {
    this.#timers.delete(timer)
    this.#clock.advance(Math.max(timer.due - this.elapsed(), 0))
    timer.act()
  }
}

/** Flushes promises, immediates and 0 ms timers, for parts without I/O. */
export async function settle(): Promise<void> {
  for (let turns = 0; turns < SETTLING_TURNS; turns++) {
    await wait(0)
    await turn()
  }
}
