/**
 * The time of the servers, as this process knows it: leases are compared with it, so that the clocks of nodes need not agree. Measured
 * against the monotonic clock, so that nobody who sets the clock of this machine moves it.
 */
export class ServerTime {
  /** The servers' milliseconds since 1970, less those of the monotonic clock. */
  #offset: number | undefined

  /** A server told its time at some moment between these two of the monotonic clock. */
  note(serverMs: number, asked: number, answered: number): void {
    if (!Number.isFinite(serverMs)) return
    const [least, most] = [serverMs - answered, serverMs - asked]
    this.#offset = this.#offset === undefined ? (least + most) / 2 : Math.min(Math.max(this.#offset, least), most)
  }

  /** Milliseconds since 1970. */
  now(elapsed = performance.now()): number {
    return this.#offset === undefined ? Date.now() : elapsed + this.#offset
  }
}
