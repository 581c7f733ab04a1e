/** Tracks which piece of work encloses the running code: what it requests is recorded below it. */
import type { Ledger } from './ledger.ts'

/** A value that follows the flow of asynchronous code: `AsyncLocalStorage` of Node, which `core` does not import. */
export interface AsyncLocal<Value> {
  getStore(): Value | undefined
  run<Result>(value: Value, work: () => Result): Result
}

export interface Enclosure {
  /** Ledger of the run that it belongs to: code of another run may get here, for example through a connection that it opened. */
  readonly ledger: Ledger
  readonly ref: string
  readonly outer: Enclosure | undefined
  /** The log has the result of this work; its code runs only to emit its output again. New work is rejected. */
  readonly isRevisited: boolean
}

/** Whether the work is one of the enclosing works. */
export function isAround(enclosure: Enclosure | undefined, ref: string): boolean {
  for (let around = enclosure; around !== undefined; around = around.outer) if (around.ref === ref) return true
  return false
}
