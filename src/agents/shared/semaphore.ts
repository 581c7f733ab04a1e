/** FIFO semaphore. */
export class Semaphore {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(max: number) {
    this.#free = max
  }

  /** Number of callers that wait for a slot. */
  get waiting(): number {
    return this.#waiting.length
  }

  get hasFree(): boolean {
    return this.#free > 0
  }

  /** Resolves with a release function; rejects if the signal aborts first. */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.#free > 0) this.#free--
    else await this.#wait(signal)
    let isHeld = true
    return () => {
      if (isHeld) this.#release()
      isHeld = false
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const granted = (): void => {
        signal.removeEventListener('abort', aborted)
        resolve()
      }
      const aborted = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(granted), 1)
        reject(signal.reason as Error)
      }
      signal.addEventListener('abort', aborted, { once: true })
      this.#waiting.push(granted)
    })
  }

  #release(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }
}
