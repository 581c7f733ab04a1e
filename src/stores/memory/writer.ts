/** Log writer of the memory store. */
import { HoldfastError } from '../../core/model/errors.ts'
import { isFinished, type Run } from '../../core/model/run.ts'
import type { LogWriter } from '../../core/ports/store.ts'
import { hasEnded } from '../shared/refusals.ts'

export interface Append {
  readonly record: string
  readonly change: Run | undefined
}

/**
 * Collects the records that are appended in one tick of the event loop and commits them as one batch, as a store with a disk
 * does.
 */
export class MemoryWriter implements LogWriter {
  readonly #commit: (first: number, batch: readonly Append[]) => void
  readonly #onRefused: (cause: unknown) => void
  #batch: Append[] = []
  #batchFirst: number
  #pendingChars = 0
  #committing: Promise<void> | undefined
  /** Permanent: a later append would leave a gap in the log. */
  #refusal: HoldfastError | undefined

  constructor(
    next: number,
    commit: (first: number, batch: readonly Append[]) => void,
    onRefused: (cause: unknown) => void = () => {},
  ) {
    this.#batchFirst = next
    this.#commit = commit
    this.#onRefused = onRefused
  }

  get next(): number {
    return this.#batchFirst + this.#batch.length
  }

  get pending(): number {
    return this.#batch.length
  }

  get pendingChars(): number {
    return this.#pendingChars
  }

  append(record: string, change?: Run): void {
    if (this.#refusal !== undefined) throw this.#refusal
    const last = this.#batch.at(-1)?.change
    if (last && isFinished(last.status)) throw hasEnded(last.id)
    this.#batch.push({ record, change })
    this.#pendingChars += record.length
    this.#committing ??= Promise.resolve().then(() => this.#commitBatch())
  }

  async flush(): Promise<void> {
    await this.#committing
    if (this.#refusal !== undefined) throw this.#refusal
  }

  /** Never rejects: reports a refusal and keeps it for `flush`. */
  #commitBatch(): void {
    const batch = this.#batch
    const first = this.#batchFirst
    this.#committing = undefined
    this.#batchFirst += batch.length
    this.#batch = []
    this.#pendingChars = 0
    try {
      this.#commit(first, batch)
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error
      const isFirstRefusal = this.#refusal === undefined
      this.#refusal ??= error
      if (isFirstRefusal) this.#onRefused(error)
    }
  }
}
