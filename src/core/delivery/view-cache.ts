/** LRU of the views of one node, bounded by the bytes of the logs that they have folded. */
import type { Projection } from '../ports/projection.ts'
import type { Limits } from '../model/limits.ts'
import type { Run } from '../model/run.ts'
import type { Store, StoredRun } from '../ports/store.ts'
import { SharedView } from './shared-view.ts'

/** A protocol's projection, and what subscribers need to find their place in it. */
export interface ViewKind<State, Frame> {
  /** Views of one run with the same name have the same frames. */
  readonly name: string
  readonly projection: Projection<State, Frame>
  /** Number of the next frame, as the protocol counts them. */
  readonly position: (state: State) => number
  /** Whether a stream may end at a frame before its run ends. */
  readonly mayEnd: (frame: Frame) => boolean
}

/** Estimated bytes of a view without checkpoints. */
const VIEW_BYTES = 4096

export class ViewCache {
  readonly #store: Store
  readonly #limits: Limits
  /** All views that somebody uses. Subscribers keep theirs alive, also when its checkpoints were evicted. */
  readonly #known = new Map<string, WeakRef<object>>()
  readonly #collected = new FinalizationRegistry<string>((key) => {
    if (this.#known.get(key)?.deref() === undefined) this.#known.delete(key)
  })
  /** Views with checkpoints, least recently used first, and the bytes that each was charged. */
  readonly #charged = new Map<SharedView<unknown, unknown>, number>()
  #bytes = 0

  constructor(store: Store, limits: Limits) {
    this.#store = store
    this.#limits = limits
  }

  /** Bytes of the logs whose states are kept. */
  get bytes(): number {
    return this.#bytes
  }

  /** The caller has checked that the principal may read the run. */
  open<State, Frame>(
    { run, first }: Pick<StoredRun, 'run' | 'first'>,
    kind: ViewKind<State, Frame>,
  ): SharedView<State, Frame> {
    // A log that was trimmed is another one: protocols number what is left of it differently.
    const key = JSON.stringify([run.id, first, kind.name])
    const known = this.#known.get(key)?.deref() as SharedView<State, Frame> | undefined
    if (known !== undefined) return known
    const view = new SharedView({ kind, run, first, store: this.#store, limits: this.#limits, cache: this })
    this.#known.set(key, new WeakRef(view))
    this.#collected.register(view, key)
    return view
  }

  /** A view has folded this many bytes, and was just used. Evicts others, or the view itself if it is too large. */
  charge(view: SharedView<never, never>, bytes: number): void {
    const charged = view as unknown as SharedView<unknown, unknown>
    this.#release(charged)
    this.#charged.set(charged, bytes + VIEW_BYTES)
    this.#bytes += bytes + VIEW_BYTES
    for (const oldest of this.#charged.keys()) {
      if (this.#bytes <= this.#limits.viewBytesMax) return
      this.#release(oldest)
      oldest.forget()
    }
  }

  /** Evicts the views of removed runs at once. */
  drop(isRemoved: (run: Run) => boolean): void {
    for (const view of this.#charged.keys()) {
      if (!isRemoved(view.run)) continue
      this.#release(view)
      view.forget()
    }
  }

  #release(view: SharedView<unknown, unknown>): void {
    this.#bytes -= this.#charged.get(view) ?? 0
    this.#charged.delete(view)
  }
}
