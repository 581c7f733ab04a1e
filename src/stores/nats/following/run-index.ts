/**
 * Index of all runs known to this node, for listings and workers. It may lag behind the log but is never ahead of it; decisions
 * are made on the log.
 */
import type { Position } from '../../../core/model/page.ts'
import { isFinished } from '../../../core/model/run.ts'
import type { RunQuery } from '../../../core/ports/store.ts'
import type { OwnerTotals } from '../../shared/owner-totals.ts'
import { FairOrder } from '../../shared/fair-order.ts'
import { type Head, isReady, keptBytesOf } from '../log/head.ts'
import type { Tip } from '../log/run-messages.ts'
import { SortedRuns } from './sorted-runs.ts'

export interface Entry extends Position {
  head: Head
  seq: number
  /** Fields for the fair order. */
  readonly number: number
  run: Pick<Head, 'owner' | 'status' | 'wakeAt'>
  stop: true | undefined
}

export class NatsRunIndex {
  readonly #entries = new Map<string, Entry>()
  readonly #all = new SortedRuns<Entry>()
  readonly #byOwner = new Map<string, SortedRuns<Entry>>()
  /** Per owner: sessions of different owners may have the same name. */
  readonly #bySession = new Map<string, SortedRuns<Entry>>()
  /** Unfinished runs of each lane. */
  readonly #lanes = new Map<string, Set<Entry>>()
  /** Runs leased by each worker. */
  readonly #held = new Map<string, Set<Entry>>()
  readonly #order = new FairOrder<Entry>()
  /** Tombstones of removed runs, and when each became known. */
  readonly #tombstones = new Map<string, { readonly seq: number; readonly at: number }>()
  readonly #totals: OwnerTotals

  constructor(totals: OwnerTotals) {
    this.#totals = totals
  }

  get(id: string): Entry | undefined {
    return this.#entries.get(id)
  }

  /**
   * Applies a message and returns the run's previous state; undefined: new run. `isNew`: false if already known. `fault`: the
   * message is newer but has an older state, as after a stream lost messages; it is not applied.
   */
  apply({ head, seq }: Tip): { readonly isNew: boolean; readonly before?: Head | undefined; readonly fault?: string } {
    const { back: _back, ...rest } = head
    const kept: Head = { ...rest, back: [] }
    const entry = this.#entries.get(head.id)
    if (seq <= (entry?.seq ?? this.#tombstones.get(head.id)?.seq ?? 0)) return { isNew: false }
    const fault = entry && regressionFrom(entry.head, head)
    if (fault !== undefined) return { isNew: false, fault }
    if (head.tombstone !== undefined) {
      if (entry !== undefined) this.#drop(entry)
      this.#tombstones.set(head.id, { seq, at: performance.now() })
      return { isNew: true, before: entry?.head }
    }
    this.#tombstones.delete(head.id)
    if (entry === undefined) {
      this.#reindex(this.#add(kept, seq), undefined)
      return { isNew: true }
    }
    const before = entry.head
    this.#totals.add(kept.owner, { logBytes: keptBytesOf(kept) - keptBytesOf(before) })
    Object.assign(entry, { head: kept, seq, run: kept, stop: kept.stopped ? true : undefined })
    this.#reindex(entry, before)
    return { isNew: true, before }
  }

  /** A run turned out to be missing, without a tombstone. */
  forget(id: string, seq: number): void {
    const entry = this.#entries.get(id)
    if (entry?.seq === seq) this.#drop(entry)
  }

  *entriesWhere(isWanted: (entry: Entry) => boolean): Generator<Entry> {
    for (const entry of this.#entries.values()) if (isWanted(entry)) yield entry
  }

  /** Runs that were removed before a moment, with their tombstones. */
  *tombstonesBefore(moment: number): Generator<{ readonly id: string; readonly seq: number }> {
    for (const [id, { seq, at }] of this.#tombstones) {
      if (at > moment) return
      this.#tombstones.delete(id)
      yield { id, seq }
    }
  }

  isGone(id: string): boolean {
    return this.#tombstones.has(id)
  }

  /** The run that may execute in a lane. */
  headOfLane(lane: string): Entry | undefined {
    let first: Entry | undefined
    for (const entry of this.#lanes.get(lane) ?? [])
      if (first === undefined || entry.number < first.number) first = entry
    return first
  }

  heldBy(worker: string): readonly Entry[] {
    return [...(this.#held.get(worker) ?? [])]
  }

  workers(): Iterable<string> {
    return this.#held.keys()
  }

  /** Expiry times of the leases that a worker holds. */
  leasesOf(worker: string): number[] {
    return [...(this.#held.get(worker) ?? [])].map(({ head }) => head.lease!.until)
  }

  /** In claim order. */
  claimable(limit: number, now: number, isHeld: (head: Head) => boolean, components?: readonly string[]): string[] {
    const isWanted = ({ head }: Entry): boolean =>
      (head.stopped || (components?.includes(head.component) ?? true)) && this.isClaimable(head, now, isHeld)
    return this.#order.first(limit, isWanted).map(({ id }) => id)
  }

  isClaimable(head: Head, now: number, isHeld: (head: Head) => boolean): boolean {
    if (head.tombstone !== undefined || !isReady(head, now) || isHeld(head)) return false
    return head.stopped || head.lane === undefined || this.headOfLane(head.lane)?.id === head.id
  }

  /** All runs that need a worker, now or later. */
  needed(): Iterable<Entry> {
    return this.#order.all()
  }

  queued(owner?: string): number {
    return this.#order.queued(owner)
  }

  /** Newest first. */
  *select(
    { owner, component, session, status, version }: Omit<RunQuery, 'limit' | 'after'>,
    after?: Position,
  ): Generator<Entry> {
    const ofOwner = owner === undefined ? this.#all : this.#byOwner.get(owner)
    const isListed = owner !== undefined && session !== undefined
    const runs = isListed ? this.#bySession.get(sessionKey({ owner, session })) : ofOwner
    for (const entry of runs?.before(after) ?? []) {
      const { head } = entry
      if (session !== undefined && head.session !== session) continue
      if (component !== undefined && head.component !== component) continue
      if (version !== undefined && head.version !== version) continue
      if (status === undefined || status.includes(head.status)) yield entry
    }
  }

  oldest(after?: Position): Iterable<Entry> {
    return this.#all.after(after)
  }

  /** Finished runs of an owner, oldest first. */
  *finished(owner: string, after?: Position): Generator<Entry> {
    for (const entry of this.#byOwner.get(owner)?.after(after) ?? []) if (isFinished(entry.head.status)) yield entry
  }

  #add(head: Head, seq: number): Entry {
    const { id, createdAt, number } = head
    const entry: Entry = { id, createdAt, number, head, seq, run: head, stop: head.stopped ? true : undefined }
    this.#entries.set(id, entry)
    this.#totals.add(head.owner, { runs: 1, logBytes: keptBytesOf(head) })
    this.#all.add(entry)
    listIn(this.#byOwner, head.owner).add(entry)
    listIn(this.#bySession, sessionKey(head)).add(entry)
    return entry
  }

  #drop(entry: Entry): void {
    this.#entries.delete(entry.id)
    this.#totals.add(entry.head.owner, { runs: -1, logBytes: -keptBytesOf(entry.head) })
    this.#all.remove(entry)
    removeFrom(this.#byOwner, entry.head.owner, entry)
    removeFrom(this.#bySession, sessionKey(entry.head), entry)
    const before = entry.head
    Object.assign(entry, {
      head: { ...before, status: 'cancelled', lease: undefined },
      run: { ...before, status: 'cancelled' },
    })
    this.#reindex(entry, before)
  }

  /** Updates lane, worker and fair order. */
  #reindex(entry: Entry, before: Head | undefined): void {
    const { head } = entry
    this.#order.place(entry)
    if (head.lane !== undefined) put(this.#lanes, head.lane, entry, !isFinished(head.status))
    if (before?.lease !== undefined && before.lease.worker !== head.lease?.worker)
      put(this.#held, before.lease.worker, entry, false)
    if (head.lease !== undefined) put(this.#held, head.lease.worker, entry, true)
  }
}

/** Positions, events and epochs of a run only increase. A rewritten run starts at position 1, with all its events. */
function regressionFrom(before: Head, { ordinal, next, epoch, tombstone }: Head): string | undefined {
  if (tombstone !== undefined) return undefined
  if (ordinal <= before.ordinal && ordinal !== 1) return `position ${ordinal} after position ${before.ordinal}`
  if (next < before.next) return `a log of ${next} events after one of ${before.next}`
  return epoch < before.epoch ? `a writer of epoch ${epoch} after one of ${before.epoch}` : undefined
}

function sessionKey({ owner, session }: Pick<Head, 'owner' | 'session'>): string {
  return JSON.stringify([owner, session])
}

function listIn(lists: Map<string, SortedRuns<Entry>>, key: string): SortedRuns<Entry> {
  const known = lists.get(key)
  if (known !== undefined) return known
  const list = new SortedRuns<Entry>()
  lists.set(key, list)
  return list
}

function removeFrom(lists: Map<string, SortedRuns<Entry>>, key: string, entry: Entry): void {
  const list = lists.get(key)
  list?.remove(entry)
  if (list?.size === 0) lists.delete(key)
}

function put<Item>(sets: Map<string, Set<Item>>, key: string, item: Item, belongs: boolean): void {
  const set = sets.get(key) ?? new Set<Item>()
  if (belongs) sets.set(key, set.add(item))
  else if (set.delete(item) && set.size === 0) sets.delete(key)
}
