/** Ends a request when its caller says so, or when nothing was heard of it for too long. */

export class Watchdog {
  /** Whether it was silence that ended the request. */
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

  /** Waits for something of the request, no longer than it may be silent. Between such waits its silence is ours. */
  async wait<Heard>(heard: Promise<Heard>): Promise<Heard> {
    this.#timer = setTimeout(() => {
      this.silent = true
      this.#controller.abort()
    }, this.#idleTimeoutMs)
    // Not every `fetch` obeys its signal, and a body that was handed on may not either.
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    const abort = (): void => reject(this.signal.reason as Error)
    if (this.signal.aborted) abort()
    else this.signal.addEventListener('abort', abort)
    try {
      return await Promise.race([heard, aborted])
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
