/**
 * Releases the worker slots of runs that do nothing but sleep (decision 0013), so that other runs use them. A run that wakes up waits
 * for a slot, ahead of queued runs.
 */

/** The worker slot of one run. */
export interface RunSlot {
  /** Releases the slot. Returns false if it was kept. */
  giveUp(): boolean
  /** Takes a slot immediately, whether or not one is free: the run is active. */
  takeBack(): void
  /** Resolves when the run has a slot again. */
  regain(signal: AbortSignal): Promise<void>
}

export interface SleepingRunsOptions {
  /** Maximum sleeping runs without slots, because each stays in memory. Further ones keep their slots. */
  readonly max: number
  readonly hasRoom: () => boolean
  readonly isExecuting: (id: string) => boolean
  /** Called when a run has released its slot. */
  readonly freed: (id: string, owner: string) => void
  /** Called when a run has a slot again. */
  readonly onSlotTaken: (id: string, owner: string) => void
}

export class SleepingRuns {
  readonly #options: SleepingRunsOptions
  /** Owners of the runs that gave up their slots, by run. */
  readonly #asleep = new Map<string, string>()
  /** Runs that woke up and wait for a slot, in order; each with the wake-ups of its branches. */
  readonly #waking = new Map<string, Set<() => void>>()

  constructor(options: SleepingRunsOptions) {
    this.#options = options
  }

  /** Number of runs of this node without a slot. */
  get size(): number {
    return this.#asleep.size
  }

  slotOf(id: string, owner: string): RunSlot {
    return {
      giveUp: () => this.#giveUp(id, owner),
      takeBack: () => this.#takeBack(id),
      regain: (signal) => this.#regain(id, signal),
    }
  }

  /** Wakes runs if slots are free. */
  wakeSome(): void {
    for (const id of this.#waking.keys()) {
      if (!this.#options.hasRoom()) return
      this.#takeBack(id)
    }
  }

  /** Removes a run that this node no longer executes. */
  forget(id: string): void {
    this.#asleep.delete(id)
    this.#waking.delete(id)
  }

  #giveUp(id: string, owner: string): boolean {
    const { max, isExecuting, freed } = this.#options
    if (this.#asleep.size >= max || !isExecuting(id)) return false
    this.#asleep.set(id, owner)
    freed(id, owner)
    return true
  }

  #takeBack(id: string): void {
    const owner = this.#asleep.get(id)
    if (owner !== undefined) {
      this.#asleep.delete(id)
      this.#options.onSlotTaken(id, owner)
    }
    const waking = this.#waking.get(id) ?? []
    this.#waking.delete(id)
    for (const wake of waking) wake()
  }

  async #regain(id: string, signal: AbortSignal): Promise<void> {
    if (!this.#asleep.has(id)) return
    if (this.#waking.size === 0 && this.#options.hasRoom()) return this.#takeBack(id)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waking = this.#waking.get(id) ?? new Set()
    const abort = (): void => {
      waking.delete(resolve)
      if (waking.size === 0) this.#waking.delete(id)
      reject(signal.reason as Error)
    }
    this.#waking.set(id, waking.add(resolve))
    signal.addEventListener('abort', abort, { once: true })
    await promise.finally(() => signal.removeEventListener('abort', abort))
  }
}
