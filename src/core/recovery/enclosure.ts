/** Tracks which work encloses the running code. Work that the code requests is recorded as nested in it. */
import type { Ledger } from './ledger.ts'

/** A value that follows asynchronous control flow: Node's `AsyncLocalStorage`, which `core` does not import. */
export interface AsyncLocal<Value> {
  getStore(): Value | undefined
  run<Result>(value: Value, work: () => Result): Result
}

export interface Enclosure {
  /** Ledger of the run it belongs to. Code of another run can get here, for example through a connection that it opened. */
  readonly ledger: Ledger
  readonly ref: string
  readonly outer: Enclosure | undefined
  /** The result of this work is logged; its code runs only to emit its output again. New work is rejected. */
  readonly isRevisited: boolean
}

/** Whether a piece of work encloses the code. */
export function isAround(enclosure: Enclosure | undefined, ref: string): boolean {
  for (let around = enclosure; around !== undefined; around = around.outer) if (around.ref === ref) return true
  return false
}
