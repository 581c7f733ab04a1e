/** Aborts when an upstream sends nothing for too long. */
export class IdleTimer {
  readonly #controller = new AbortController()
  readonly #timer: NodeJS.Timeout

  /** `ms`: maximum silence of an upstream, before and within its response. */
  constructor(ms = 120_000) {
    this.#timer = setTimeout(() => this.#controller.abort(new Error(`no data for ${ms} ms`)), ms)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  reset(): void {
    this.#timer.refresh()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
