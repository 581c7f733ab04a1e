/** One subscriber's position in a view, and the memory that it references there. */
import type { Slice } from '../model/slice.ts'
import type { Checkpoint, SharedView } from './shared-view.ts'
import type { ViewStep } from './view-step.ts'
import type { ReferencedState } from './view-memory.ts'

export class ViewPosition<State, Frame> {
  readonly #view: SharedView<State, Frame>
  #at: Checkpoint<State>
  #ownBytes = 0

  constructor(view: SharedView<State, Frame>, from: Checkpoint<State> = view.start) {
    this.#view = view
    this.#at = from
  }

  /** The fold after everything delivered. */
  get at(): Checkpoint<State> {
    return this.#at
  }

  get referenced(): ReferencedState {
    const ownBytes = this.#ownBytes
    return { view: this.#view, sharedBytes: this.#at.bytes - ownBytes, ownBytes }
  }

  take(slice: Slice): ViewStep<State, Frame> {
    const step = this.#view.step(this.#at, slice)
    this.#at = step.after
    // State that no other position has folded to the same event is not shared.
    this.#ownBytes = step.after.isShared ? 0 : this.#ownBytes + step.after.bytes - step.before.bytes
    return step
  }
}
