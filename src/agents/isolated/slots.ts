/** A semaphore: bounds the threads of a component. Whoever waits longest is next. */
export class Slots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(max: number) {
    this.#free = max
  }

  /** Resolves with a function that gives the slot back; rejects when the signal is aborted first. */
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
