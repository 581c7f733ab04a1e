/** Distributes hints to listeners within one process, by run. Every store uses it. */
import type { Hint, HintListener } from '../ports/store.ts'

/** Delivers hints to the listeners of one process, by run. Use it in a store's `watch`. */
export class Hints {
  /** Each watch has its own entry, even if two have the same listener. */
  readonly #watches = new Map<string, Set<{ readonly listener: HintListener }>>()

  watch(id: string, listener: HintListener): () => void {
    let watches = this.#watches.get(id)
    if (watches === undefined) this.#watches.set(id, (watches = new Set()))
    const watch = { listener }
    watches.add(watch)
    return () => {
      watches.delete(watch)
      if (watches.size === 0 && this.#watches.get(id) === watches) this.#watches.delete(id)
    }
  }

  give(hint: Hint): void {
    for (const { listener } of this.#watches.get(hint.run) ?? []) notify(listener, hint)
    for (const { listener } of this.#watches.get('*') ?? []) notify(listener, hint)
  }
}

/** An error of a listener must not affect the log: the listener only loses a hint, and hints may be lost. */
function notify(listener: HintListener, hint: Hint): void {
  try {
    listener(hint)
  } catch {
    // A listener that throws reads the log at its next poll.
  }
}
