/** A clock whose time and timers are the test's: nothing is due before the test says that time has passed. */
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { createFakeClock, type FakeClock } from '../../src/testing/fake-clock.ts'

interface Timer {
  readonly due: number
  readonly act: () => void
}

/** Turns of the event loop, with its timers, after which everything that needs no time has been done. */
const SETTLING_TURNS = 5

export class ManualClock implements FakeClock {
  readonly #clock: FakeClock
  readonly #timers = new Set<Timer>()
  /** Bound, as `Clock` allows its methods to be taken apart. */
  readonly now = (): number => this.#clock.now()
  readonly elapsed = (): number => this.#clock.elapsed!()
  readonly iso = (): string => this.#clock.iso()
  readonly step = (milliseconds: number): void => this.#clock.step(milliseconds)

  constructor(start?: string) {
    this.#clock = createFakeClock(start)
  }

  /** Timers that have not fired and were not cancelled. */
  get timers(): number {
    return this.#timers.size
  }

  readonly startTimer = (act: () => void, milliseconds: number): (() => void) => {
    const timer: Timer = { due: this.elapsed() + Math.max(milliseconds, 0), act }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  /** Moves the time and fires what is due, without waiting for what comes of it. */
  readonly advance = (milliseconds: number): void => {
    const until = this.elapsed() + milliseconds
    for (let timer; (timer = this.#next(until)) !== undefined;) this.#fire(timer)
    this.#clock.advance(until - this.elapsed())
  }

  /** Lets time pass: whatever a timer sets off has been done before the next one fires. */
  readonly pass = async (milliseconds: number): Promise<void> => {
    const until = this.elapsed() + milliseconds
    await settle()
    for (let timer; (timer = this.#next(until)) !== undefined;) {
      this.#fire(timer)
      await settle()
    }
    this.#clock.advance(until - this.elapsed())
    await settle()
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

/** Lets everything happen that needs no time: promises, immediates and timers of 0 ms, with parts that do no I/O. */
export async function settle(): Promise<void> {
  for (let turns = 0; turns < SETTLING_TURNS; turns++) {
    await wait(0)
    await turn()
  }
}
