/** Fair queue order (`Store.claimable`): round-robin between owners, for stores that hold their unfinished runs in memory. */
import type { RunStatus } from '../../core/model/run.ts'

/** A run as the store holds it. */
export interface OrderedRun {
  readonly run: {
    readonly id?: string
    readonly owner: string
    readonly status: RunStatus
    readonly wakeAt?: number | undefined
  }
  /** Higher for a run that was created later. */
  readonly number: number
  readonly stop?: unknown
}

/** The runs of one owner. */
interface Line<Item> {
  readonly running: Set<Item>
  /** In order of creation. */
  readonly queued: Set<Item>
  /** Sequence number of the last time that a queued run of this owner was started; 0: never. */
  lastStart: number
}

/** Orders the unfinished runs of a store as `Store.claimable` requires. */
export class FairOrder<Item extends OrderedRun> {
  readonly #lines = new Map<string, Line<Item>>()
  /** Started runs that need a worker, now or later. Excludes runs that wait for an answer without a timeout. */
  readonly #started = new Set<Item>()
  #starts = 0

  /** Call this whenever a run is created or changed, or gets a stop request. Finished runs are removed. */
  place(item: Item): void {
    const { owner, status, wakeAt } = item.run
    const line = this.#lines.get(owner) ?? { running: new Set(), queued: new Set(), lastStart: 0 }
    if (status === 'running' && line.queued.has(item)) line.lastStart = ++this.#starts
    put(item, line.running, status === 'running')
    put(item, line.queued, status === 'queued')
    const wakes = item.stop !== undefined || wakeAt !== undefined
    put(item, this.#started, status === 'running' || (status === 'paused' && wakes))
    if (line.running.size + line.queued.size > 0) this.#lines.set(owner, line)
    else this.#lines.delete(owner)
  }

  /** Removes a run, whatever its status. */
  remove(item: Item): void {
    const line = this.#lines.get(item.run.owner)
    line?.running.delete(item)
    line?.queued.delete(item)
    this.#started.delete(item)
    if (line !== undefined && line.running.size + line.queued.size === 0) this.#lines.delete(item.run.owner)
  }

  clear(): void {
    this.#lines.clear()
    this.#started.clear()
  }

  /** All runs that need a worker, now or later. */
  *all(): Generator<Item> {
    yield* this.#started
    for (const { queued } of this.#lines.values()) yield* queued
  }

  /** The next `limit` runs that match, in fair order. */
  first(limit: number, isWanted: (item: Item) => boolean): Item[] {
    const started: Item[] = []
    for (const item of this.#started) if (isWanted(item)) started.push(item)
    started.sort((a, b) => a.number - b.number)
    return started.length < limit
      ? [...started, ...this.#waiting(limit - started.length, isWanted)]
      : started.slice(0, limit)
  }

  /** Number of queued runs, of all owners or of one. */
  queued(owner?: string): number {
    if (owner !== undefined) return this.#lines.get(owner)?.queued.size ?? 0
    let queued = 0
    for (const line of this.#lines.values()) queued += line.queued.size
    return queued
  }

  /** Reads at most `limit` runs per owner, so a long queue stays cheap. */
  #waiting(limit: number, isWanted: (item: Item) => boolean): Item[] {
    const found: { readonly item: Item; readonly rank: number; readonly lastStart: number }[] = []
    for (const { running, queued, lastStart } of this.#lines.values()) {
      let place = 0
      for (const item of queued) {
        if (place >= limit) break
        if (isWanted(item)) found.push({ item, rank: running.size + place++, lastStart })
      }
    }
    found.sort((a, b) => a.rank - b.rank || a.lastStart - b.lastStart || a.item.number - b.item.number)
    return found.slice(0, limit).map(({ item }) => item)
  }
}

function put<Item>(item: Item, into: Set<Item>, belongs: boolean): void {
  if (belongs) into.add(item)
  else into.delete(item)
}
