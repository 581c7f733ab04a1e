/** The length of the queue that all nodes share, asked with a timeout: one question at a time, whoever waits for it. */
import type { NodeDeps } from '../ports/node-deps.ts'
import { startTimer } from './timer.ts'

export class QueueLength {
  readonly #deps: Pick<NodeDeps, 'store' | 'limits' | 'clock'>
  #asking: Promise<number | undefined> | undefined

  constructor(deps: Pick<NodeDeps, 'store' | 'limits' | 'clock'>) {
    this.#deps = deps
  }

  /** Undefined if the store does not answer in time. */
  now(): Promise<number | undefined> {
    const { store, limits, clock } = this.#deps
    this.#asking ??= store
      .queued()
      .catch(() => undefined) // health reports say why
      .finally(() => (this.#asking = undefined))
    let stopTimer: (() => void) | undefined
    const late = new Promise<undefined>((resolve) => {
      stopTimer = startTimer(() => resolve(undefined), limits.storeProbeTimeoutMs, clock)
    })
    return Promise.race([this.#asking, late]).finally(() => stopTimer?.())
  }
}
