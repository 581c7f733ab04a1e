/** Streams that this node has just written, for the worker that wakes subscribers. Lost at a crash: the worker also looks by itself. */
const NAMES_MAX = 10_000

/** In place of a name: any of the owner's streams. */
export const ANY = ''

export class StreamChanges {
  #names = new Map<string, Set<string>>()
  #count = 0
  #isOverfull = false
  /** Called when a change arrives. */
  onChange: (() => void) | undefined

  note(owner: string, name: string): void {
    if (this.onChange === undefined) return // nothing delivers here
    if (this.#count >= NAMES_MAX) this.#isOverfull = true
    else {
      const names = this.#names.get(owner) ?? new Set()
      if (!names.has(name)) this.#count++
      this.#names.set(owner, names.add(name))
    }
    this.onChange()
  }

  /** Names by owner. `isOverfull`: some were dropped, so everything must be looked at. */
  take(): { readonly names: ReadonlyMap<string, ReadonlySet<string>>; readonly isOverfull: boolean } {
    const taken = { names: this.#names, isOverfull: this.#isOverfull }
    this.#names = new Map()
    this.#count = 0
    this.#isOverfull = false
    return taken
  }
}
