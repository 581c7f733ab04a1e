/** Who may hold a connection, agreed on by all tabs with the browser's locks: they outlive no tab. */

/** Streams that are open at once; with the one that takes turns, one of six connections is left for everything else. */
const STREAMS_MAX = 4
/** How long the connection that takes turns waits for news of one run, shared by all that wait for their turn. */
const TURN_MS = 1000

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

  /** Does the work as the one tab that leads this run, if no other does. */
  async leadNow(work: () => Promise<void>): Promise<boolean> {
    return this.#locks.request(this.#lead, { ifAvailable: true }, async (lock) => {
      if (lock !== null) await work()
      return lock !== null
    })
  }

  /** Does the work once no other tab leads this run. */
  async lead(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    await this.#locks.request(this.#lead, { signal }, work)
  }

  /** Takes the lead from a tab that does not do its work. */
  async takeLead(work: () => Promise<void>): Promise<void> {
    await this.#locks.request(this.#lead, { steal: true }, work)
  }

  /** Does the work if there is a place for one more stream. */
  async stream(work: () => Promise<void>): Promise<boolean> {
    for (let place = 0; place < STREAMS_MAX; place++) {
      const taken = await this.#locks.request(`${this.#name}:stream:${place}`, { ifAvailable: true }, async (lock) => {
        if (lock !== null) await work()
        return lock !== null
      })
      if (taken) return true
    }
    return false
  }

  /**
   * Does the work when it is this run's turn; it may take the time that it is given. All other runs wait meanwhile, so it must
   * not wait for anything else: not for the next try, and not long for an answer that does not come.
   */
  async turn<Result>(work: (ms: number) => Promise<Result>, signal: AbortSignal): Promise<Result> {
    const name = `${this.#name}:turn`
    return this.#locks.request(name, { signal }, async () => {
      const { pending = [] } = await this.#locks.query()
      const waiting = pending.filter((lock) => lock.name === name).length
      return work(Math.floor(TURN_MS / (waiting + 1)))
    })
  }
}
