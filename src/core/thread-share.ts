/** Long work in slices: a log of a million events keeps nobody else from the thread while it is folded (SUB-4). */

const SLICE_MS_MAX = 5

export class ThreadShare {
  #since = performance.now()

  /** Lets others have the thread when this work has had it for long enough; a promise then, to be awaited. */
  rest(): Promise<void> | undefined {
    if (performance.now() - this.#since < SLICE_MS_MAX) return undefined
    return new Promise((resolve) => {
      setTimeout(() => {
        this.#since = performance.now()
        resolve()
      }, 0)
    })
  }
}
