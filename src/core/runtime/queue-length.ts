/** The length of the shared run queue, read with a timeout. Concurrent callers share one read. */
import type { NodeDeps } from '../node-deps.ts'
import { startTimer } from './timer.ts'

export class QueueLength {
  readonly #deps: Pick<NodeDeps, 'store' | 'limits' | 'clock'>
  #asking: Promise<number | undefined> | undefined

  constructor(deps: Pick<NodeDeps, 'store' | 'limits' | 'clock'>) {
    this.#deps = deps
  }

  /** Undefined if the store does not respond in time. */
  now(): Promise<number | undefined> {
    const { store, limits, clock } = this.#deps
    this.#asking ??= store
      .queued()
      .catch(() => undefined) // health reports contain the reason
      .finally(() => (this.#asking = undefined))
    let stopTimer: (() => void) | undefined
    const late = new Promise<undefined>((resolve) => {
      stopTimer = startTimer(() => resolve(undefined), limits.storeProbeTimeoutMs, clock)
    })
    return Promise.race([this.#asking, late]).finally(() => stopTimer?.())
  }
}
