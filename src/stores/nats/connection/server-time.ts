/**
 * The servers' time, estimated in this process. Leases are compared with it, so the clocks of nodes need not agree. Based on
 * the monotonic clock, so setting this machine's clock does not affect it.
 */
export class ServerTime {
  /** The servers' milliseconds since 1970 minus the monotonic clock. */
  #offset: number | undefined

  /** Records a server's time, taken between these two moments of the monotonic clock. */
  note(serverMs: number, sentAt: number, repliedAt: number): void {
    if (!Number.isFinite(serverMs)) return
    const [least, most] = [serverMs - repliedAt, serverMs - sentAt]
    this.#offset = this.#offset === undefined ? (least + most) / 2 : Math.min(Math.max(this.#offset, least), most)
  }

  /** Milliseconds since 1970. */
  now(elapsed = performance.now()): number {
    return this.#offset === undefined ? Date.now() : elapsed + this.#offset
  }
}
