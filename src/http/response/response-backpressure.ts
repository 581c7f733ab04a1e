/** Backpressure for handlers that write to a response themselves: disconnects a client that reads nothing (SUB-1). */
import type { HttpResponse } from '../exchange.ts'

export class ResponseBackpressure {
  readonly #response: HttpResponse
  readonly #signal: AbortSignal
  #resume: () => void = () => {}

  constructor(response: HttpResponse, stallMs: number, signal: AbortSignal) {
    this.#response = response
    this.#signal = signal
    const wake = (): void => this.#resume()
    response.on('drain', wake)
    response.on('close', wake)
    signal.addEventListener('abort', wake, { once: true })
    response.setTimeout(stallMs, () => {
      if (response.writableNeedDrain) response.destroy()
    })
  }

  /** Resolves when the client has read enough for the next write, or the signal aborts. */
  async write(chunk: string | Uint8Array): Promise<void> {
    if (this.#response.write(chunk) || this.#response.destroyed || this.#signal.aborted) return
    await new Promise<void>((resolve) => {
      this.#resume = resolve
    })
  }
}
