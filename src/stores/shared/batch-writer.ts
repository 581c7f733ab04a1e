/** Log writer that buffers the records of one lease for the next group commit. */
import { isFinished, type Run } from '../../core/model/run.ts'
import type { LogWriter } from '../../core/ports/store.ts'
import { hasEnded } from './refusals.ts'

/** A writer's share of one commit. */
export interface Part {
  readonly writer: BatchWriter
  readonly first: number
  readonly count: number
  readonly text: string
  /** The run after this commit, if it changes. */
  readonly change: Run | undefined
  /** The commit pauses or finishes the run, which ends its lease. */
  readonly ends: boolean
}

interface Waiter {
  readonly next: number
  readonly resolve: () => void
  readonly reject: (cause: unknown) => void
}

export class BatchWriter implements LogWriter {
  readonly id: string
  readonly epoch: number
  readonly #onAppended: (writer: BatchWriter) => void
  readonly #onRefused: (cause: unknown) => void
  #next: number
  #durable: number
  #text = ''
  #textCount = 0
  /** Characters in the commit that is under way. */
  #charsUnderWay = 0
  #change: Run | undefined
  #ends = false
  #closed = false
  #refusal: unknown
  #waiters: Waiter[] = []

  constructor(
    id: string,
    claim: { readonly epoch: number; readonly next: number },
    onAppended: (writer: BatchWriter) => void,
    onRefused: (cause: unknown) => void = () => {},
  ) {
    this.id = id
    this.epoch = claim.epoch
    this.#next = claim.next
    this.#durable = claim.next
    this.#onAppended = onAppended
    this.#onRefused = onRefused
  }

  get next(): number {
    return this.#next
  }

  get pending(): number {
    return this.#refusal === undefined ? this.#next - this.#durable : 0
  }

  get pendingChars(): number {
    return this.#refusal === undefined ? this.#text.length + this.#charsUnderWay : 0
  }

  /** Characters that are not yet part of a commit. */
  get waitingChars(): number {
    return this.#text.length
  }

  append(record: string, change?: Run): void {
    if (this.#refusal !== undefined) throw this.#refusal
    if (this.#closed) throw hasEnded(this.id)
    this.#text += record
    this.#textCount++
    this.#next++
    if (change !== undefined) {
      this.#change = change
      this.#closed = isFinished(change.status)
      this.#ends ||= this.#closed || change.status === 'paused'
    }
    this.#onAppended(this)
  }

  flush(): Promise<void> {
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal)
    if (this.pending === 0) return Promise.resolve()
    return new Promise((resolve, reject) => this.#waiters.push({ next: this.#next, resolve, reject }))
  }

  take(): Part {
    const part: Part = {
      writer: this,
      first: this.#next - this.#textCount,
      count: this.#textCount,
      text: this.#text,
      change: this.#change,
      ends: this.#ends,
    }
    this.#charsUnderWay = this.#text.length
    this.#text = ''
    this.#textCount = 0
    this.#change = undefined
    this.#ends = false
    return part
  }

  /** Everything taken is durable. */
  settle(next: number): void {
    this.#durable = next
    this.#charsUnderWay = 0
    const waiters = this.#waiters
    this.#waiters = waiters.filter((waiter) => waiter.next > next)
    for (const waiter of waiters) if (waiter.next <= next) waiter.resolve()
  }

  /** Permanent: a later append would leave a gap in the log. Reported even if no caller awaits a flush (RUN-1). */
  refuse(cause: unknown): void {
    const isFirstRefusal = this.#refusal === undefined
    this.#refusal ??= cause
    this.#text = ''
    this.#textCount = 0
    for (const waiter of this.#waiters.splice(0)) waiter.reject(this.#refusal)
    if (isFirstRefusal) this.#onRefused(this.#refusal)
  }
}
