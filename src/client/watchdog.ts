/** Aborts a request on the caller's signal or after an idle timeout. */

export class Watchdog {
  /** Whether the idle timeout ended the request. */
  silent = false
  readonly #controller = new AbortController()
  readonly #idleTimeoutMs: number
  readonly #outer: AbortSignal | undefined
  readonly #abort = (): void => this.#controller.abort(this.#outer?.reason)
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(idleTimeoutMs: number, outer: AbortSignal | undefined) {
    this.#idleTimeoutMs = idleTimeoutMs
    this.#outer = outer
    if (outer?.aborted === true) this.#abort()
    else outer?.addEventListener('abort', this.#abort)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Waits for data within the idle timeout. The timer does not run between waits. */
  async wait<Received>(received: Promise<Received>): Promise<Received> {
    this.#timer = setTimeout(() => {
      this.silent = true
      this.#controller.abort()
    }, this.#idleTimeoutMs)
    // Not every `fetch`, nor every body, obeys its signal.
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    const abort = (): void => reject(this.signal.reason as Error)
    if (this.signal.aborted) abort()
    else this.signal.addEventListener('abort', abort)
    try {
      return await Promise.race([received, aborted])
    } finally {
      clearTimeout(this.#timer)
      this.signal.removeEventListener('abort', abort)
    }
  }

  close(): void {
    this.#outer?.removeEventListener('abort', this.#abort)
    this.#controller.abort()
  }
}
