/**
 * Probes a store. `Store.health` reports only the last attempt, and a silent connection has not failed yet. Concurrent callers share
 * a probe, and few are in flight.
 */
import { detailOf } from '../model/errors.ts'
import type { NodeDeps } from '../node-deps.ts'
import type { StoreHealth } from '../ports/store.ts'
import { startTimer } from './timer.ts'

/** Maximum probes in flight. */
const UNANSWERED_MAX = 3
/** An id that no run has: the read is cheap, and reaches the server like any other. */
const NO_RUN = 'probe'

export class StoreProbe {
  readonly #deps: Pick<NodeDeps, 'store' | 'limits' | 'clock'>
  #probing: Promise<StoreHealth> | undefined
  #pending = 0

  constructor(deps: Pick<NodeDeps, 'store' | 'limits' | 'clock'>) {
    this.#deps = deps
  }

  /** Resolves within the timeout. Concurrent callers share the result. */
  health(): Promise<StoreHealth> {
    this.#probing ??= this.#ask().finally(() => (this.#probing = undefined))
    return this.#probing
  }

  async #ask(): Promise<StoreHealth> {
    const { store, limits, clock } = this.#deps
    const known = store.health()
    if (!known.ok) return known
    const silent: StoreHealth = {
      ok: false,
      reason: `the store has not responded within ${limits.storeProbeTimeoutMs} ms`,
    }
    if (this.#pending >= UNANSWERED_MAX) return silent
    let stopTimer: (() => void) | undefined
    const late = new Promise<StoreHealth>((resolve) => {
      stopTimer = startTimer(() => resolve(silent), limits.storeProbeTimeoutMs, clock)
    })
    this.#pending++
    const health = store
      .get(NO_RUN)
      .then(
        () => store.health(),
        (cause: unknown): StoreHealth => ({ ok: false, reason: detailOf(cause) }),
      )
      .finally(() => this.#pending--)
    return Promise.race([health, late]).finally(() => stopTimer?.())
  }
}
