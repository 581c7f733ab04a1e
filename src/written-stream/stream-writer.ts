/** The writing end of a stream: a run emits what is appended, and the log acknowledges it. */
import { HoldfastError } from '../core/model/errors.ts'
import type { Event } from '../core/model/event.ts'
import { RunFailure } from '../core/execution/run-failure.ts'
import { createEvent } from '../core/ports/component.ts'

/** Name of the custom events that are the chunks of a stream. */
export const CHUNK = 'stream.chunk'

/** Maximum chunks that were appended and are not durable yet. A producer that awaits `append` has at most one batch of them. */
const UNACKNOWLEDGED_MAX = 10_000

interface Acknowledgement {
  readonly resolve: (index: number) => void
  readonly reject: (cause: unknown) => void
}

export class StreamWriter {
  readonly #chunks: unknown[] = []
  /** One per chunk that is not durable, oldest first. */
  readonly #unacknowledged: Acknowledgement[] = []
  readonly #over = Promise.withResolvers<unknown>()
  #end: { readonly error?: string } | undefined
  #isOver = false
  #wake = (): void => {}

  /** Resolves with the indexes of the chunks, once they are durable. */
  append(chunks: readonly unknown[]): Promise<number[]> {
    if (this.#end !== undefined || this.#isOver)
      return Promise.reject(new HoldfastError('conflict', 'the stream has ended'))
    if (this.#unacknowledged.length + chunks.length > UNACKNOWLEDGED_MAX)
      return Promise.reject(
        new HoldfastError('rate_limited', `more than ${UNACKNOWLEDGED_MAX} chunks are not durable yet: await append`),
      )
    const indexes = chunks.map((chunk) => {
      this.#chunks.push(chunk)
      return new Promise<number>((resolve, reject) => this.#unacknowledged.push({ resolve, reject }))
    })
    this.#wake()
    return Promise.all(indexes)
  }

  /** Ends the stream, with an error if one is given. Resolves when its end is durable; rejects if it ended otherwise. */
  async end(error?: string): Promise<void> {
    this.#end ??= error === undefined ? {} : { error }
    this.#wake()
    const failure = await this.#over.promise
    if (failure !== undefined && this.#end.error === undefined) throw failure
  }

  /** The events that the run emits. */
  async *emissions(signal: AbortSignal): AsyncGenerator<Event, void, void> {
    for (;;) {
      while (this.#chunks.length > 0) yield createEvent('custom.emitted', { name: CHUNK, value: this.#chunks.shift() })
      if (this.#end?.error !== undefined) throw new RunFailure('agent_failed', this.#end.error)
      if (this.#end !== undefined) return
      await this.#changed(signal)
    }
  }

  /** Acknowledges the oldest unacknowledged chunk. */
  acknowledge(index: number): void {
    this.#unacknowledged.shift()?.resolve(index)
  }

  /** Ends the writer because the run has ended, with `failure` unless it completed. */
  close(failure: unknown): void {
    this.#isOver = true
    for (const { reject } of this.#unacknowledged.splice(0))
      reject(failure ?? new HoldfastError('conflict', 'the stream has ended'))
    this.#over.resolve(failure)
  }

  #changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = (): void => reject(signal.reason)
      if (signal.aborted) return stop()
      signal.addEventListener('abort', stop, { once: true })
      this.#wake = () => {
        signal.removeEventListener('abort', stop)
        resolve()
      }
    })
  }
}
