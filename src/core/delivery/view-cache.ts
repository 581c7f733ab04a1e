/** LRU cache of the views of one node, bounded by an estimate of their memory. */
import type { Projection } from '../ports/projection.ts'
import type { Limits } from '../model/limits.ts'
import type { Run } from '../model/run.ts'
import type { Clock } from '../ports/clock.ts'
import type { Store, StoredRun } from '../ports/store.ts'
import { FoldQueue } from './fold-queue.ts'
import { SharedStructure } from './shared-structure.ts'
import { SharedView } from './shared-view.ts'
import { ViewMemory } from './view-memory.ts'

/** A protocol's projection, and the functions that locate a subscriber's position in it. */
export interface ViewKind<State, Frame> {
  /** Views of one run with the same name have equal frames. */
  readonly name: string
  readonly projection: Projection<State, Frame>
  /** Number of the next frame, as the protocol counts them. */
  readonly position: (state: State) => number
  /** Number of the next frame that a client can refer to. Default: `position`. */
  readonly nextNumber?: (state: State) => number
  /** Whether a stream may end at a frame before its run ends. */
  readonly mayEnd: (frame: Frame) => boolean
}

/** Cached state of a run that can be rebuilt from its log. */
interface Evictable {
  readonly run: Run
  forget(): void
}

/** Estimated bytes of a view without checkpoints. */
const VIEW_BYTES = 4096

export class ViewCache {
  /** Memory of streams and folds, which is not in the cache. */
  readonly memory: ViewMemory
  readonly folds: FoldQueue
  readonly #parts: { readonly store: Store; readonly limits: Limits; readonly cache: ViewCache }
  /** All views in use. Subscribers keep theirs alive, even if its checkpoints were evicted. */
  readonly #known = new Map<string, WeakRef<object>>()
  readonly #collected = new FinalizationRegistry<string>((key) => {
    if (this.#known.get(key)?.deref() === undefined) this.#known.delete(key)
  })
  /** Views with checkpoints, least recently used first, and the bytes that each was charged. */
  readonly #charged = new Map<Evictable, number>()
  #bytes = 0

  constructor(store: Store, limits: Limits, clock?: Clock) {
    this.memory = new ViewMemory(limits)
    this.folds = new FoldQueue(limits, this.memory, clock)
    this.#parts = { store, limits, cache: this }
  }

  /** Estimated memory of the cached states. */
  get bytes(): number {
    return this.#bytes
  }

  /** The caller must have checked that the principal may read the run. */
  open<State, Frame>(
    { run, first }: Pick<StoredRun, 'run' | 'first'>,
    kind: ViewKind<State, Frame>,
  ): SharedView<State, Frame> {
    // Protocols number the frames of a trimmed log differently, so it gets a view of its own.
    const key = JSON.stringify([run.id, first, kind.name])
    const open = (): SharedView<State, Frame> => new SharedView({ kind, run, first, ...this.#parts })
    return this.#shared(key, open)
  }

  /** The run's structure, for snapshots. The caller must have checked that the principal may read the run. */
  structure({ run, first }: Pick<StoredRun, 'run' | 'first'>): SharedStructure {
    return this.#shared(JSON.stringify([run.id, first]), () => new SharedStructure({ run, first, ...this.#parts }))
  }

  #shared<Shared extends object>(key: string, open: () => Shared): Shared {
    const known = this.#known.get(key)?.deref() as Shared | undefined
    if (known !== undefined) return known
    const opened = open()
    this.#known.set(key, new WeakRef(opened))
    this.#collected.register(opened, key)
    return opened
  }

  /** Sets the estimated size of a view and marks it as used. Evicts others, or the view itself if it is too large. */
  charge(view: Evictable, bytes: number): void {
    this.#release(view)
    this.#charged.set(view, bytes + VIEW_BYTES)
    this.#bytes += bytes + VIEW_BYTES
    for (const oldest of this.#charged.keys()) {
      if (this.#bytes <= this.#parts.limits.maxViewCacheBytes) return
      this.#release(oldest)
      oldest.forget()
    }
  }

  /** Evicts the views of removed runs immediately. */
  drop(isRemoved: (run: Run) => boolean): void {
    for (const view of this.#charged.keys()) {
      if (!isRemoved(view.run)) continue
      this.#release(view)
      view.forget()
    }
  }

  #release(view: Evictable): void {
    this.#bytes -= this.#charged.get(view) ?? 0
    this.#charged.delete(view)
  }
}
