/** What a store gives to be tested, and the shape of the tests. */
import type { Clock } from '../../core/ports/clock.ts'
import type { Store } from '../../core/ports/store.ts'
import type { Trial } from './trial.ts'

export interface OpenOptions {
  /** Stands still unless the test moves it. Leases must be measured, and documents dated, with it. */
  readonly clock: Clock
}

export interface StoreTarget {
  readonly name: string
  /** An empty store, sharing nothing with one that was opened before. */
  readonly open: (options: OpenOptions) => Promise<Store>
  /**
   * Opens the data of a store again, as a new process does after the old one was killed: whatever is not durable at the
   * moment of the call is lost. Where one process cannot do that to itself, close the store first; the suite accepts
   * both, since records that were not flushed may be there or not. The old store is not used afterwards.
   * Must be given for a store with `capabilities.durable`.
   */
  readonly reopen?: (store: Store, options: OpenOptions) => Promise<Store>
  /** False where claims of a process that died are void at once, so that they need not run out. Default true. */
  readonly leasesSurviveReopen?: boolean
  /** How long a hint may take. Default five seconds. */
  readonly patienceMs?: number
  /** Tests that the store does not pass by design; a skip that names no test fails. */
  readonly skip?: readonly StoreSkip[]
}

export interface StoreSkip {
  /** Name of the test. */
  readonly test: string
  readonly reason: string
}

export interface ConformanceCase {
  readonly name: string
  readonly timeoutMs?: number
  readonly run: (trial: Trial) => Promise<void>
}

export interface ConformanceSection {
  readonly name: string
  /** Only for targets that can be reopened. */
  readonly needsReopen?: boolean
  readonly cases: readonly ConformanceCase[]
}
