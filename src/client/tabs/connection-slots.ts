/** Connection slots shared by all tabs through the Web Locks API; a closed tab releases its locks. */

/** Maximum open streams. With the polling connection, this leaves one of six connections for other requests. */
const STREAMS_MAX = 4
/** How long the polling connection waits for events of one run. All runs without a stream share it, round-robin. */
const POLL_MS = 1000

export class ConnectionSlots {
  readonly channel: BroadcastChannel
  readonly #locks: LockManager
  readonly #name: string
  readonly #lead: string

  constructor(locks: LockManager, name: string, run: string) {
    this.#locks = locks
    this.#name = name
    this.#lead = `${name}:run:${run}`
    this.channel = new BroadcastChannel(this.#lead)
  }

  /** Runs `work` as the leader tab of this run, if there is none. */
  async leadNow(work: () => Promise<void>): Promise<boolean> {
    return this.#locks.request(this.#lead, { ifAvailable: true }, async (lock) => {
      if (lock !== null) await work()
      return lock !== null
    })
  }

  /** Runs `work` once no other tab leads this run. */
  async lead(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    await this.#locks.request(this.#lead, { signal }, work)
  }

  /** Takes the lead from a stalled tab. */
  async takeLead(work: () => Promise<void>): Promise<void> {
    await this.#locks.request(this.#lead, { steal: true }, work)
  }

  /** Runs `work` if a stream slot is free. */
  async stream(work: () => Promise<void>): Promise<boolean> {
    for (let slot = 0; slot < STREAMS_MAX; slot++) {
      const taken = await this.#locks.request(`${this.#name}:stream:${slot}`, { ifAvailable: true }, async (lock) => {
        if (lock !== null) await work()
        return lock !== null
      })
      if (taken) return true
    }
    return false
  }

  /**
   * Runs `work` when this run gets the read slot, for at most the given time. All other runs wait until then, so it must not wait for
   * anything else: no retry delay, no slow response.
   */
  async poll<Result>(work: (ms: number) => Promise<Result>, signal: AbortSignal): Promise<Result> {
    const name = `${this.#name}:turn`
    return this.#locks.request(name, { signal }, async () => {
      const { pending = [] } = await this.#locks.query()
      const waiting = pending.filter((lock) => lock.name === name).length
      return work(Math.floor(POLL_MS / (waiting + 1)))
    })
  }
}
