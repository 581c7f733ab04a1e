/**
 * Finds components that no node serves any more: after a timeout their runs fail (RUN-1). The store knows whether a live node serves
 * a component. The duration is measured here, so that no two clocks are compared.
 */
import { elapsedOf } from '../ports/clock.ts'
import type { NodeDeps } from '../node-deps.ts'

/** Number of checks per timeout. */
const CHECKS_PER_TIMEOUT = 60

export class UnservedComponents {
  readonly #deps: Pick<NodeDeps, 'store' | 'limits' | 'clock'>
  /** When each component was first found without a node that serves it. */
  #since = new Map<string, number>()
  #nextCheckAt = 0

  constructor(deps: Pick<NodeDeps, 'store' | 'limits' | 'clock'>) {
    this.#deps = deps
  }

  /** Components that no node has served for `unservedTimeoutMs`. */
  async due(): Promise<readonly string[]> {
    const { store, limits, clock } = this.#deps
    const now = elapsedOf(clock)
    if (now < this.#nextCheckAt) return []
    this.#nextCheckAt = now + limits.unservedTimeoutMs / CHECKS_PER_TIMEOUT
    const components = await store.unserved()
    this.#since = new Map(components.map((component) => [component, this.#since.get(component) ?? now]))
    return components.filter((component) => now - this.#since.get(component)! >= limits.unservedTimeoutMs)
  }
}
