/**
 * Notifies followers of sessions about new runs, from the store's hints. A hint names no session, so each run that is new to this
 * node is looked up once. Hints may be lost: followers poll as well.
 */
import type { Hint, Store } from '../ports/store.ts'

/** Maximum runs remembered. The oldest are forgotten, and looked up again if they are still active. */
const KNOWN_MAX = 10_000
/** Maximum concurrent lookups. Further runs are left to polling. */
const LOOKUPS_MAX = 64

export class SessionRunWatch {
  readonly #store: Pick<Store, 'get' | 'watch'>
  readonly #listeners = new Map<string, Set<() => void>>()
  readonly #known = new Set<string>()
  #lookups = 0
  #unwatch: (() => void) | undefined

  constructor(store: Pick<Store, 'get' | 'watch'>) {
    this.#store = store
  }

  /** Calls the listener when the session may have a new run, until the returned function is called. */
  watch(owner: string, session: string, listener: () => void): () => void {
    const key = keyOf(owner, session)
    const listeners = this.#listeners.get(key) ?? new Set()
    this.#listeners.set(key, listeners.add(listener))
    this.#unwatch ??= this.#store.watch('*', (hint) => void this.#lookUp(hint))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key)
      if (this.#listeners.size > 0) return
      this.#unwatch?.()
      this.#unwatch = undefined
      this.#known.clear()
    }
  }

  async #lookUp({ run: id }: Hint): Promise<void> {
    if (this.#known.has(id) || this.#lookups >= LOOKUPS_MAX) return
    this.#known.add(id)
    if (this.#known.size > KNOWN_MAX) this.#known.delete(this.#known.values().next().value!)
    this.#lookups++
    try {
      const stored = await this.#store.get(id)
      if (stored === undefined) return void this.#known.delete(id)
      for (const listener of this.#listeners.get(keyOf(stored.run.owner, stored.run.session)) ?? []) listener()
    } catch {
      this.#known.delete(id) // the next hint retries
    } finally {
      this.#lookups--
    }
  }
}

function keyOf(owner: string, session: string): string {
  return JSON.stringify([owner, session])
}
