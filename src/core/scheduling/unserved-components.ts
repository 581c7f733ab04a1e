/**
 * Components that no node serves any more: after a timeout their runs are failed (RUN-1). The store knows whether a live node serves a
 * component; for how long there was none is measured here, so that no two clocks are compared.
 */
import { elapsedOf } from '../ports/clock.ts'
import type { NodeDeps } from '../ports/node-deps.ts'

/** How often within the time it is looked. */
const LOOKS = 60

export class UnservedComponents {
  readonly #parts: Pick<NodeDeps, 'store' | 'limits' | 'clock'>
  /** Since when each has been seen to be served by nobody. */
  #since = new Map<string, number>()
  #nextLook = 0

  constructor(parts: Pick<NodeDeps, 'store' | 'limits' | 'clock'>) {
    this.#parts = parts
  }

  /** The components that nobody has served for as long as runs are left to others. */
  async due(): Promise<readonly string[]> {
    const { store, limits, clock } = this.#parts
    const now = elapsedOf(clock)
    if (now < this.#nextLook) return []
    this.#nextLook = now + limits.unservedTimeoutMs / LOOKS
    const components = await store.unserved()
    this.#since = new Map(components.map((component) => [component, this.#since.get(component) ?? now]))
    return components.filter((component) => now - this.#since.get(component)! >= limits.unservedTimeoutMs)
  }
}
