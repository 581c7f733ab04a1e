/**
 * Accounts for the view states that open streams and running folds reference. Unlike cached states, they cannot be evicted. Above
 * the limit, the principal that uses most loses its largest stream or fold.
 */
import { HoldfastError } from '../model/errors.ts'
import type { Limits } from '../model/limits.ts'

/** View state that a subscriber references, in estimated bytes. */
export interface ReferencedState {
  /** Subscribers with the same view share `sharedBytes`. */
  readonly view: object
  readonly sharedBytes: number
  readonly ownBytes: number
}

interface SharedUse {
  bytes: number
  holders: number
}

type EndHolder = (error: HoldfastError) => void

export class ViewMemory {
  readonly #limits: Pick<Limits, 'maxActiveViewBytes' | 'retryDelayMs'>
  readonly #holders = new Set<ViewHolder>()
  readonly #shared = new Map<object, SharedUse>()
  #bytes = 0

  constructor(limits: Pick<Limits, 'maxActiveViewBytes' | 'retryDelayMs'>) {
    this.#limits = limits
  }

  /** Estimated memory of all referenced states. */
  get bytes(): number {
    return this.#bytes
  }

  /** Counts a holder until it is released, or ended because the limit is exceeded. */
  hold(owner: string, end: EndHolder): ViewHolder {
    const holder: ViewHolder = new ViewHolder(owner, {
      update: (state) => this.#update(holder, state),
      release: () => this.#release(holder),
      end,
    })
    this.#holders.add(holder)
    return holder
  }

  #update(holder: ViewHolder, state: ReferencedState): void {
    if (!this.#holders.has(holder)) return
    const before = holder.state
    if (before?.view !== state.view) {
      this.#leave(before)
      this.#enter(state.view)
    }
    const shared = this.#shared.get(state.view)!
    const sharedBytes = Math.max(shared.bytes, state.sharedBytes)
    this.#bytes += sharedBytes - shared.bytes + state.ownBytes - (before?.ownBytes ?? 0)
    shared.bytes = sharedBytes
    holder.state = state
    if (this.#bytes > this.#limits.maxActiveViewBytes) this.#shed()
  }

  #release(holder: ViewHolder): void {
    if (!this.#holders.delete(holder)) return
    this.#bytes -= holder.state?.ownBytes ?? 0
    this.#leave(holder.state)
  }

  #enter(view: object): void {
    const shared = this.#shared.get(view)
    if (shared === undefined) this.#shared.set(view, { bytes: 0, holders: 1 })
    else shared.holders++
  }

  #leave(state: ReferencedState | undefined): void {
    const shared = state === undefined ? undefined : this.#shared.get(state.view)
    if (shared === undefined || --shared.holders > 0) return
    this.#bytes -= shared.bytes
    this.#shared.delete(state!.view)
  }

  #shed(): void {
    while (this.#bytes > this.#limits.maxActiveViewBytes) {
      const victims = this.#ofLargestOwner()
      for (const victim of victims) {
        const error = this.#errorFor(victim)
        this.#release(victim)
        victim.ended(error)
        if (this.#bytes <= this.#limits.maxActiveViewBytes) return
      }
      if (victims.length === 0) return
    }
  }

  /** The holders of the principal that uses most, largest first. */
  #ofLargestOwner(): readonly ViewHolder[] {
    const owners = new Map<string, { bytes: number; readonly holders: [ViewHolder, number][] }>()
    for (const holder of this.#holders) {
      const weight = this.#weightOf(holder)
      let owner = owners.get(holder.owner)
      if (owner === undefined) owners.set(holder.owner, (owner = { bytes: 0, holders: [] }))
      owner.bytes += weight
      owner.holders.push([holder, weight])
    }
    const [largest] = [...owners.values()].toSorted((one, other) => other.bytes - one.bytes)
    return (largest?.holders ?? []).toSorted((one, other) => other[1] - one[1]).map(([holder]) => holder)
  }

  #weightOf({ state }: ViewHolder): number {
    if (state === undefined) return 0
    const { bytes, holders } = this.#shared.get(state.view)!
    return state.ownBytes + bytes / holders
  }

  #errorFor({ state }: ViewHolder): HoldfastError {
    const { maxActiveViewBytes, retryDelayMs } = this.#limits
    if (state!.ownBytes + state!.sharedBytes > maxActiveViewBytes)
      return new HoldfastError(
        'too_large',
        'the log of the run is too large for this protocol; use the native protocol',
      )
    const message = 'too many streams of long runs are open on this server: try again later, or use the native protocol'
    return new HoldfastError('rate_limited', message, { retryAfterMs: retryDelayMs })
  }
}

interface HolderActions {
  readonly update: (state: ReferencedState) => void
  readonly release: () => void
  readonly end: EndHolder
}

/** One stream or fold, and the state it references. */
export class ViewHolder {
  readonly owner: string
  /** Set by `ViewMemory`. */
  state: ReferencedState | undefined
  readonly #actions: HolderActions

  constructor(owner: string, actions: HolderActions) {
    this.owner = owner
    this.#actions = actions
  }

  /** May end this holder or others. */
  update(state: ReferencedState): void {
    this.#actions.update(state)
  }

  release(): void {
    this.#actions.release()
  }

  ended(error: HoldfastError): void {
    this.#actions.end(error)
  }
}
