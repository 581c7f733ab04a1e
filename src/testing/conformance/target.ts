/** Interface of a store under test, and the shape of the tests. */
import type { Clock } from '../../core/ports/clock.ts'
import type { Store } from '../../core/ports/store.ts'
import type { Trial } from './trial.ts'

/** What the conformance suite passes to `open`. */
export interface OpenOptions {
  /** Stands still unless the test moves it. Must be used for leases and document times. */
  readonly clock: Clock
}

/** A store under test, for `storeConformance`. */
export interface StoreTarget {
  readonly name: string
  /** Opens an empty store that shares nothing with earlier ones. */
  readonly open: (options: OpenOptions) => Promise<Store>
  /**
   * Reopens a store's data as a new process does after a kill: everything not durable at the moment of the call is lost. If one
   * process cannot do that to itself, close the store first; the suite accepts both, since unflushed records may survive or
   * not. The old store is not used afterwards. Required for a store with `capabilities.durable`.
   */
  readonly reopen?: (store: Store, options: OpenOptions) => Promise<Store>
  /** False if leases of a dead process are void at once, without expiring. Default: true. */
  readonly leasesSurviveReopen?: boolean
  /** How long a hint may take. Default: 5,000. */
  readonly patienceMs?: number
  /** Tests that the store fails by design. A skip must name an existing test. */
  readonly skip?: readonly StoreSkip[]
}

/** A test that does not apply to a store, and why. */
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
