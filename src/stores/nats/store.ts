/**
 * Cluster store: NATS JetStream streams, any number of nodes. Every change of a run is a compare-and-set message after the last
 * one; a node's run index only finds runs and decides nothing.
 */
import { type Ids, systemIds } from '../../core/ports/clock.ts'
import { isHoldfastError } from '../../core/model/errors.ts'
import { Hints } from '../../core/delivery/hints.ts'
import type { Slice } from '../../core/model/slice.ts'
import { isFinished } from '../../core/model/run.ts'
import type {
  ClaimableQuery,
  ClaimOptions,
  CreateResult,
  LeasedRun,
  HintListener,
  LogWriter,
  NewRun,
  StoredRunPage,
  RunQuery,
  StopRequest,
  Store,
  StoreCapabilities,
  StoredRun,
  StoreHealth,
} from '../../core/ports/store.ts'
import type { StoredUsage } from '../../core/model/storage-usage.ts'
import { BatchWriter } from '../shared/batch-writer.ts'
import { OwnerTotals } from '../shared/owner-totals.ts'
import { delayUntilAbort } from '../shared/delay.ts'
import type { Alarms } from './following/alarms.ts'
import { ReadBarriers } from './log/read-barriers.ts'
import { Commits } from './log/commits.ts'
import { Creation } from './creation.ts'
import { NatsDocuments } from './state/documents.ts'
import { Follower } from './following/follower.ts'
import { type Head, isReady, storedRun } from './log/head.ts'
import { Keys } from './state/keys.ts'
import { Lanes } from './state/lanes.ts'
import type { Layout } from './layout.ts'
import type { JetStream } from './connection/jetstream.ts'
import { Listings } from './following/listings.ts'
import { LossDetector } from './following/loss-detector.ts'
import { NatsTransfer } from './transfer.ts'
import { StreamApplier } from './following/stream-applier.ts'
import { Owners } from './state/owners.ts'
import { readLog } from './log/reader.ts'
import { NatsRetention } from './retention.ts'
import { type Entry, NatsRunIndex } from './following/run-index.ts'
import { type CurrentRun, RunMessages, type Tip } from './log/run-messages.ts'

export interface NatsStoreOptions {
  readonly jetstream: JetStream
  readonly layout: Layout
  /** Whether several servers store each message. */
  readonly isReplicated: boolean
  readonly outageTimeoutMs: number
  readonly now: () => number
  readonly alarms: Alarms
}

/** How long closing waits for pending work. */
const CLOSE_MS = 5000
const SWEEP_EVERY_MS = 10 * 60_000
/** Workers without leases are removed this long after their last renewal. */
const WORKER_KEPT_MS = 24 * 60 * 60_000

export class NatsStore implements Store {
  readonly name = 'nats'
  readonly capabilities: StoreCapabilities = { durable: true, shared: true }
  readonly documents: NatsDocuments
  readonly transfer: NatsTransfer
  readonly usage: StoredUsage = {
    of: async (owner) => (await this.#counted()).of(owner),
    total: async () => (await this.#counted()).total(),
    largest: async (limit) => (await this.#counted()).largest(limit),
    finishedRuns: (owner, limit, after) => this.#listings.finished(owner, limit, after),
  }
  readonly #jetstream: JetStream
  readonly #alarms: Alarms
  readonly #layout: Layout
  readonly #now: () => number
  readonly #totals = new OwnerTotals()
  readonly #index = new NatsRunIndex(this.#totals)
  readonly #hints = new Hints()
  readonly #messages: RunMessages
  readonly #commits: Commits
  readonly #owners: Owners
  readonly #keys: Keys
  readonly #lanes: Lanes
  readonly #creation: Creation
  readonly #listings: Listings
  readonly #retention: NatsRetention
  readonly #lossDetector: LossDetector
  readonly #applier: StreamApplier
  readonly #logs: readonly Follower[]
  readonly #states: readonly Follower[]
  readonly #ids: Ids = systemIds()
  /** Pending work that closing waits for. */
  readonly #underWay = new Set<Promise<unknown>>()
  readonly #sweeping: NodeJS.Timeout
  #closing: Promise<void> | undefined

  private constructor({ jetstream, layout, isReplicated, outageTimeoutMs, now, alarms }: NatsStoreOptions) {
    this.#jetstream = jetstream
    this.#alarms = alarms
    this.#layout = layout
    this.#now = now
    const name = (): string => this.#ids.unique()
    const barriers = new ReadBarriers(jetstream, layout, isReplicated)
    this.#messages = new RunMessages({
      jetstream,
      layout,
      name,
      barriers,
      alarms,
      lastKnown: (id) => this.#index.get(id),
      onWritten: (tip, slice) => this.#written(tip, slice),
    })
    this.#commits = new Commits({ messages: this.#messages, known: (id) => this.#known(id), outageTimeoutMs })
    this.#owners = new Owners(jetstream, layout)
    this.#keys = new Keys(jetstream, layout, barriers)
    this.#lanes = new Lanes({
      jetstream,
      layout,
      barriers,
      isOver: async (run) => this.#isOver(run[0]) || this.#creation.isOver(run),
    })
    const caughtUp = (): Promise<void> => untilCaughtUp(this.#states)
    this.documents = new NatsDocuments({ jetstream, layout, barriers, now, name, totals: this.#totals, caughtUp })
    this.#creation = new Creation({
      messages: this.#messages,
      documents: this.documents,
      lanes: this.#lanes,
      keys: this.#keys,
      now,
      serverNow: () => jetstream.time.now(),
      stored: (current) => this.#stored(current),
      isKnown: (id) => this.#index.get(id) !== undefined,
      signal: jetstream.signal,
    })
    this.#listings = new Listings({
      index: this.#index,
      messages: this.#messages,
      stored: (current) => this.#stored(current),
      caughtUp: () => untilCaughtUp(this.#logs),
      onUnreadable: () => void this.#lossDetector.check(),
    })
    this.#lossDetector = new LossDetector({
      jetstream,
      barriers,
      alarms,
      index: this.#index,
      followers: () => this.#logs,
      addressOf: (id) => layout.run(id),
      onLost: (id) => this.#applier.retract(id),
      onRewound: () => this.#messages.forgetAll(),
    })
    this.#retention = new NatsRetention({ jetstream, layout, messages: this.#messages, keys: this.#keys })
    this.transfer = new NatsTransfer({
      workers: () => this.#workers(),
      runs: (limit, after) => this.#listings.oldest(limit, after),
      documents: this.documents,
      creation: this.#creation,
    })
    this.#applier = new StreamApplier({
      index: this.#index,
      hints: this.#hints,
      layout,
      alarms,
      messageIndex: this.#messages.messageIndex,
      documents: this.documents,
      owners: this.#owners,
      isClaimable: (head) => this.#isClaimable(head),
    })
    const { receive, receiveState } = this.#applier
    this.#logs = layout.logs.map((address) => new Follower({ jetstream, address, onMessage: receive }))
    this.#states = layout.states.map((address) => new Follower({ jetstream, address, onMessage: receiveState }))
    this.#sweeping = setInterval(() => void this.#sweep(), SWEEP_EVERY_MS).unref()
  }

  static async open(options: NatsStoreOptions): Promise<NatsStore> {
    const store = new NatsStore(options)
    try {
      await Promise.all([...store.#logs, ...store.#states].map((follower) => follower.start()))
      store.#applier.applyInitial()
      return store
    } catch (cause) {
      await store.close()
      throw cause
    }
  }

  health(): StoreHealth {
    if (this.#closing !== undefined) return { ok: false, reason: 'the store was closed' }
    const { texts } = this.#alarms
    return texts.length === 0 ? this.#jetstream.health() : { ...this.#jetstream.health(), alarms: texts }
  }

  create(run: NewRun): Promise<CreateResult> {
    return this.#track(this.#creation.create(run))
  }

  async get(id: string): Promise<StoredRun | undefined> {
    const current = await this.#messages.read(id)
    if (current === undefined) this.#lossDetector.assertNotLost(id)
    return current && this.#stored(current)
  }

  findByKey(owner: string, key: string): Promise<{ stored: StoredRun; fingerprint: string } | undefined> {
    return this.#creation.find(owner, key)
  }

  list(query: RunQuery): Promise<StoredRunPage> {
    return this.#listings.page(query)
  }

  remove(id: string): Promise<boolean> {
    return this.#retention.remove(id)
  }

  writer(
    id: string,
    claim: { readonly epoch: number; readonly next: number },
    onRefused?: (cause: unknown) => void,
  ): LogWriter {
    return new BatchWriter(id, claim, (writer) => this.#commits.appended(writer), onRefused)
  }

  async read(id: string, after: number, maxBytes: number): Promise<Slice | undefined> {
    this.#alarms.expectSound(id)
    const known = this.#index.get(id)
    try {
      return await readLog(this.#messages, known && { ...known }, id, after, maxBytes)
    } catch (cause) {
      if (isHoldfastError(cause, 'not_found')) this.#lossDetector.assertNotLost(id)
      throw cause
    }
  }

  trim(id: string, before: number): Promise<void> {
    return this.#retention.trim(id, before)
  }

  async size(): Promise<number> {
    const { logs, states } = this.#layout
    const all = await Promise.all([...logs, ...states].map(({ stream }) => this.#jetstream.state(stream)))
    return all.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  async claim(id: string, worker: string, ttlMs: number, options: ClaimOptions = {}): Promise<StoredRun | undefined> {
    const known = await this.#known(id)
    const { written, current } = await this.#messages.change(
      id,
      async (before) => {
        if (before === undefined || !(await this.#isFree(before.head, options))) return undefined
        const until = this.#now() + ttlMs
        return { change: { epoch: before.head.epoch + 1, lease: { worker, until } } }
      },
      { known },
    )
    return written ? this.#stored(current!) : undefined
  }

  async renew(worker: string, ttlMs: number, components?: readonly string[]): Promise<readonly LeasedRun[]> {
    await this.#owners.renew({ owner: worker, until: this.#now() + ttlMs, ...(components && { components }) })
    return Promise.all(this.#index.heldBy(worker).map((entry) => this.#held(entry)))
  }

  async release(id: string, epoch: number): Promise<void> {
    await this.#messages.change(id, (before) => {
      const isOwn = before?.head.lease !== undefined && before.head.epoch === epoch
      return isOwn && !isFinished(before.head.status) ? { change: { lease: undefined } } : undefined
    })
  }

  async claimable(limit: number, { components, takeover = true }: ClaimableQuery = {}): Promise<readonly string[]> {
    const isTaken = (head: Head): boolean =>
      this.#isHeld(head) || isLeftToWorker(head, takeover) || this.#alarms.isSuspended(head.id)
    return this.#index.claimable(limit, this.#now(), isTaken, components)
  }

  async unserved(): Promise<readonly string[]> {
    await untilCaughtUp([...this.#logs, ...this.#states])
    return this.#owners.served.without(this.#index.needed(), ({ head }) => head.component, this.#now())
  }

  async queued(owner?: string): Promise<number> {
    return this.#index.queued(owner)
  }

  async requestStop(id: string, stop: StopRequest): Promise<StoredRun | undefined> {
    const { current } = await this.#messages.change(id, (before) => {
      if (before === undefined || isFinished(before.head.status) || before.head.stopped) return undefined
      return { change: { stopped: true }, description: { ...before.description, stop } }
    })
    if (current === undefined) return undefined
    if (!isFinished(current.head.status)) this.#hints.give({ run: id, next: current.head.next, stop: true })
    return this.#stored(current)
  }

  watch(id: string, listener: HintListener): () => void {
    return this.#hints.watch(id, listener)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    clearInterval(this.#sweeping)
    this.#lossDetector.close()
    const enough = new AbortController()
    const late = delayUntilAbort(CLOSE_MS, enough.signal)
    await Promise.race([Promise.all([this.#commits.idle(), Promise.allSettled(this.#underWay)]), late])
    for (const follower of [...this.#logs, ...this.#states]) follower.close()
    await Promise.race([this.#jetstream.close(), late])
    enough.abort()
  }

  /** Whether a run can be claimed now, according to the servers. */
  async #isFree(head: Head, options: ClaimOptions): Promise<boolean> {
    if (!isReady(head, this.#now(), options) || this.#isHeld(head) || isLeftToWorker(head, options.takeover))
      return false
    if (head.lease !== undefined && (await this.#owners.latest(head.lease.worker)) > this.#now()) return false
    if (head.stopped || options.outOfOrder || head.lane === undefined) return true
    const first = (await this.#lanes.first(head.lane, head.id)) ?? this.#index.headOfLane(head.lane)?.id
    return first === undefined || first === head.id
  }

  /** A stop request that cannot be read now is reported by the next renewal. */
  async #held({ id, head: { epoch, next }, stop: isStopped }: Entry): Promise<LeasedRun> {
    const known = isStopped === true ? await this.#known(id).catch(() => undefined) : undefined
    const stop = known?.description.stop
    return { id, epoch, next, ...(stop && { stop }) }
  }

  /** As known on this node. */
  #isHeld({ lease }: Head): boolean {
    return lease !== undefined && Math.max(lease.until, this.#owners.until(lease.worker)) > this.#now()
  }

  #isOver(id: string): boolean {
    const entry = this.#index.get(id)
    return entry === undefined ? this.#index.isGone(id) : isFinished(entry.head.status)
  }

  /** A run as this node last saw it. */
  async #known(id: string): Promise<CurrentRun | undefined> {
    const entry = this.#index.get(id)
    return entry && this.#messages.describe({ head: entry.head, seq: entry.seq })
  }

  #stored({ head, description }: CurrentRun): StoredRun {
    return storedRun(head, description, head.lease === undefined ? 0 : this.#owners.until(head.lease.worker))
  }

  /** Usage per owner, after this node has caught up with everything written so far. */
  async #counted(): Promise<OwnerTotals> {
    await untilCaughtUp([...this.#logs, ...this.#states])
    return this.#totals
  }

  async #workers(): Promise<string[]> {
    await untilCaughtUp([...this.#logs, ...this.#states])
    const now = this.#now()
    const holding = [...this.#index.workers()].filter((worker) =>
      this.#index.leasesOf(worker).some((until) => until > now),
    )
    return [...new Set([...this.#owners.atWork(now), ...holding])]
  }

  /** Called when a message of this node was acknowledged. */
  #written(tip: Tip, slice: Slice | undefined): void {
    this.#applier.apply(tip, slice)
    const { id, lane, status } = tip.head
    if (lane !== undefined && isFinished(status) && tip.head.next > tip.head.from)
      void this.#track(this.#lanes.leave(lane, id)).catch(() => {}) // the next run in the lane cleans up
  }

  #isClaimable(head: Head): boolean {
    return this.#index.isClaimable(head, this.#now(), (each) => this.#isHeld(each))
  }

  /** Removes tombstones that every node has seen. */
  async #sweep(): Promise<void> {
    const before = performance.now() - SWEEP_EVERY_MS
    try {
      for (const { id, seq } of this.#index.tombstonesBefore(before)) {
        const { stream, subject } = this.#layout.run(id)
        await this.#jetstream.purge(stream, subject, seq + 1)
      }
      await this.documents.sweep(before)
      await this.#owners.sweep(this.#now() - WORKER_KEPT_MS, (worker) => this.#index.heldBy(worker).length > 0)
    } catch {
      // The next sweep tries again.
    }
  }

  #track<Result>(work: Promise<Result>): Promise<Result> {
    const settled = work.catch(() => {}).finally(() => this.#underWay.delete(settled)) // callers get the error from `work`
    this.#underWay.add(settled)
    return work
  }
}

/** Whether the run is leased, even if expired, and must not be taken over from its worker. */
function isLeftToWorker({ lease, stopped }: Head, takeover = true): boolean {
  return lease !== undefined && !takeover && !stopped
}

async function untilCaughtUp(followers: readonly Follower[]): Promise<void> {
  await Promise.all(followers.map((follower) => follower.caughtUp()))
}
