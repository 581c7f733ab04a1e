/** Who wants to hear of which run, inside one process. What every store needs to give hints. */
import type { Hint, HintListener } from './store.ts'

export class Hints {
  readonly #listeners = new Map<string, Set<HintListener>>()

  watch(id: string, listener: HintListener): () => void {
    let listeners = this.#listeners.get(id)
    if (listeners === undefined) this.#listeners.set(id, (listeners = new Set()))
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id)
    }
  }

  give(hint: Hint): void {
    for (const listener of this.#listeners.get(hint.run) ?? []) listener(hint)
    for (const listener of this.#listeners.get('*') ?? []) listener(hint)
  }
}
