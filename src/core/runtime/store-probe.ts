/**
 * Probes a store now: `Store.health` reports only the last attempt, and a silent connection has not failed yet. Concurrent callers share a
 * probe, and few are in flight.
 */
import { detailOf } from '../model/errors.ts'
import type { NodeDeps } from '../ports/node-deps.ts'
import type { StoreHealth } from '../ports/store.ts'
import { startTimer } from './timer.ts'

/** Questions that were not answered and may still be. */
const UNANSWERED_MAX = 3
/** No run has it: the question is cheap, and goes to the server like any other. */
const NO_RUN = 'probe'

export class StoreProbe {
  readonly #deps: Pick<NodeDeps, 'store' | 'limits' | 'clock'>
  #probing: Promise<StoreHealth> | undefined
  #pending = 0

  constructor(deps: Pick<NodeDeps, 'store' | 'limits' | 'clock'>) {
    this.#deps = deps
  }

  /** Answers within the bound; who asks meanwhile gets the same answer. */
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
      reason: `the store has not answered within ${limits.storeProbeTimeoutMs} ms`,
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
