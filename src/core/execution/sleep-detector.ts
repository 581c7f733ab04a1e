/**
 * Detects that a run does nothing but sleep, and releases its worker slot meanwhile. Work beside a sleep keeps the slot; work that
 * encloses the sleep does not. What an agent awaits outside of its context is unknown here: as soon as it emits or records
 * something, the run takes its slot back.
 */
import { type Enclosure, isAround } from '../recovery/enclosure.ts'
import type { RunSlot } from '../scheduling/sleeping-runs.ts'

/** Shorter sleeps keep the slot: releasing it would cost more than it gains. */
export const SLOT_KEPT_MS_MAX = 60_000

interface Sleeper {
  readonly enclosure: Enclosure | undefined
}

export class SleepDetector {
  readonly #slot: RunSlot
  readonly #work = new Set<string>()
  readonly #sleepers = new Set<Sleeper>()
  #isResting = false

  constructor(slot: RunSlot) {
    this.#slot = slot
  }

  /** Whether the run has released its slot. */
  get isResting(): boolean {
    return this.#isResting
  }

  /** Marks work as in progress until the returned function is called. */
  work(ref: string): () => void {
    this.#work.add(ref)
    this.#update()
    return () => {
      this.#work.delete(ref)
      this.#update()
    }
  }

  /** Sleeps within `enclosure` until `until` resolves and the run has a slot again. */
  async sleep(enclosure: Enclosure | undefined, until: Promise<void>, signal: AbortSignal): Promise<void> {
    const sleeper: Sleeper = { enclosure }
    this.#sleepers.add(sleeper)
    this.#update()
    try {
      await until
      if (this.#isResting) await this.#slot.regain(signal)
      this.#isResting = false
    } finally {
      this.#sleepers.delete(sleeper)
      this.#update()
    }
  }

  /** Takes the slot back: the run is active although it sleeps. */
  disturb(): void {
    this.#isResting = false
    this.#slot.takeBack()
  }

  #update(): void {
    const rests = this.#sleepers.size > 0 && [...this.#work].every((ref) => this.#isAsleepIn(ref))
    if (rests && !this.#isResting) this.#isResting = this.#slot.giveUp()
    else if (!rests && this.#isResting) this.disturb()
  }

  #isAsleepIn(ref: string): boolean {
    for (const { enclosure } of this.#sleepers) if (isAround(enclosure, ref)) return true
    return false
  }
}
