/** Tracks which piece of work encloses the running code: what it requests is recorded below it. */
import type { Ledger } from './ledger.ts'

/** A value that follows the flow of asynchronous code: `AsyncLocalStorage` of Node, which `core` does not import. */
export interface AsyncLocal<Value> {
  getStore(): Value | undefined
  run<Result>(value: Value, work: () => Result): Result
}

export interface Enclosure {
  /** Of the run that it belongs to: code may come here from another run, or through a connection that one opened. */
  readonly ledger: Ledger
  readonly ref: string
  readonly outer: Enclosure | undefined
  /** The log has the result of this work; its code only runs to say again what it said. Nothing new is done. */
  readonly isRevisited: boolean
}

/** Whether work is among what is around. */
export function isAround(enclosure: Enclosure | undefined, ref: string): boolean {
  for (let around = enclosure; around !== undefined; around = around.outer) if (around.ref === ref) return true
  return false
}
