/**
 * In-memory store and reference implementation: all of `core/ports/store.ts` in plain maps and arrays, lost with the process.
 * Read it first when you write a store: it follows the order of the port, and states every rule that `storeConformance` tests.
 */
import { type Clock, systemClock } from '../core/ports/clock.ts'
import { assertReadable } from '../core/model/cursor.ts'
import { HoldfastError, runNotFound } from '../core/model/errors.ts'
import { Hints } from '../core/delivery/hints.ts'
import type { TransferredRun, StoreTransfer } from '../core/ports/store-transfer.ts'
import { comesBefore, cursorOf, positionOf } from '../core/model/page.ts'
import { type Slice, sliceOf } from '../core/model/slice.ts'
import { isFinished, type Run } from '../core/model/run.ts'
import type {
  ClaimableQuery,
  ClaimOptions,
  CreateResult,
  LeasedRun,
  Hint,
  HintListener,
  Lease,
  LogWriter,
  NewRun,
  StoredRunPage,
  RunQuery,
  StopRequest,
  Store,
  StoredRun,
  StoreHealth,
} from '../core/ports/store.ts'
import type { StoredUsage } from '../core/model/storage-usage.ts'
import { MemoryDocuments } from './memory/documents.ts'
import { MemoryTransfer } from './memory/transfer.ts'
import { MemoryUsage } from './memory/usage.ts'
import { type Append, MemoryWriter } from './memory/writer.ts'
import { OwnerTotals } from './shared/owner-totals.ts'
import { ServedComponents } from './shared/served-components.ts'
import { FairOrder } from './shared/fair-order.ts'
import { claimedAgain, expectsEvent, hasEnded, idInUse, notFinished } from './shared/refusals.ts'

/** Options of `createMemoryStore`. */
export interface MemoryStoreOptions {
  /** Measures leases and dates documents. Default: the system clock. */
  readonly clock?: Clock
}

/** A store in memory, lost with the process. For tests, and the model for stores of your own. */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  return new MemoryStore(options.clock ?? systemClock)
}

/** Everything the store holds of one run. */
interface Entry {
  run: Run
  /** Creation order. */
  readonly number: number
  /** The records that retention has not trimmed; `records[0]` has the index `first`. */
  readonly records: string[]
  first: number
  bytes: number
  epoch: number
  lease?: Lease | undefined
  stop?: StopRequest | undefined
  readonly idempotency?: NewRun['idempotency'] | undefined
}

class MemoryStore implements Store {
  readonly name = 'memory'
  readonly capabilities = { durable: false, shared: false }
  readonly documents: MemoryDocuments
  readonly transfer: StoreTransfer
  readonly usage: StoredUsage
  readonly #clock: Clock
  readonly #totals = new OwnerTotals()
  /** In order of creation. */
  readonly #entries = new Map<string, Entry>()
  /** The run that each idempotency key of an owner belongs to. */
  readonly #keys = new Map<string, { readonly id: string; readonly fingerprint: string }>()
  /** The unfinished runs of each lane in order of creation. Only the first may execute. */
  readonly #lanes = new Map<string, Set<string>>()
  /** Decides which run is offered to a worker next. */
  readonly #order = new FairOrder<Entry>()
  readonly #served = new ServedComponents()
  readonly #hints = new Hints()
  #entered = 0
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.documents = new MemoryDocuments(clock, this.#totals)
    this.usage = new MemoryUsage(this.#totals, () =>
      [...this.#entries.values()].map((entry) => ({ stored: stored(entry), bytes: entry.bytes })),
    )
    this.transfer = new MemoryTransfer({
      runs: () =>
        [...this.#entries.values()].map((entry) => ({ stored: stored(entry), ...idempotencyField(entry.idempotency) })),
      now: () => clock.now(),
      documents: this.documents,
      admit: (kept, record) => this.#admit(kept, record),
    })
  }

  health(): StoreHealth {
    return this.#closed ? { ok: false, reason: 'the store was closed' } : { ok: true }
  }

  /** No method awaits between reading and writing, so each is atomic. */
  async create({ run, record, idempotency, rejectIfBusy = false, claim }: NewRun): Promise<CreateResult> {
    // The key is checked before the lane: a retried start must not be refused because of itself.
    const known = idempotency && this.#keys.get(keyOf(run.owner, idempotency.key))
    if (known !== undefined) {
      const kind = known.fingerprint === idempotency?.fingerprint ? 'existing' : 'key_conflict'
      return { kind, stored: stored(this.#entries.get(known.id)!) }
    }
    const head = this.#headOfLane(run)
    if (rejectIfBusy && head !== undefined) return { kind: 'busy', stored: stored(head) }
    if (this.#entries.has(run.id)) throw idInUse(run.id)

    const entry: Entry = { run, number: ++this.#entered, records: [], first: 0, bytes: 0, epoch: 0, idempotency }
    this.#enter(entry, record)
    if (claim !== undefined && head === undefined) this.#take(entry, claim.worker, claim.ttlMs)
    this.documents.touch(run)
    const created: CreateResult = { kind: 'created', stored: stored(entry) }
    this.#hint(entry, { slice: sliceOf(0, [record], false), ...(this.#isClaimable(entry) && { claimable: true }) })
    return created
  }

  async get(id: string): Promise<StoredRun | undefined> {
    const entry = this.#entries.get(id)
    return entry && stored(entry)
  }

  async findByKey(owner: string, key: string): Promise<{ stored: StoredRun; fingerprint: string } | undefined> {
    const known = this.#keys.get(keyOf(owner, key))
    return known && { stored: stored(this.#entries.get(known.id)!), fingerprint: known.fingerprint }
  }

  async list(query: RunQuery): Promise<StoredRunPage> {
    const after = query.after === undefined ? undefined : positionOf(query.after)
    const found: Run[] = []
    for (const { run } of this.#entries.values()) {
      if (matches(run, query) && (after === undefined || comesBefore(after, run))) found.push(run)
    }
    found.sort((a, b) => (comesBefore(a, b) ? -1 : 1))
    const page = found.slice(0, query.limit)
    const runs = page.map((run) => stored(this.#entries.get(run.id)!))
    return found.length > page.length ? { runs, cursor: cursorOf(page.at(-1)!) } : { runs }
  }

  async remove(id: string): Promise<boolean> {
    const entry = this.#entries.get(id)
    if (entry === undefined) return false
    if (!isFinished(entry.run.status)) throw notFinished(id, entry.run.status)
    this.#entries.delete(id)
    this.#totals.add(entry.run.owner, { runs: -1, logBytes: -entry.bytes })
    if (entry.idempotency !== undefined) this.#keys.delete(keyOf(entry.run.owner, entry.idempotency.key))
    return true
  }

  writer(
    id: string,
    claim: { readonly epoch: number; readonly next: number },
    onRefused?: (cause: unknown) => void,
  ): LogWriter {
    return new MemoryWriter(claim.next, (first, batch) => this.#commit(id, claim.epoch, first, batch), onRefused)
  }

  async read(id: string, after: number, maxBytes: number): Promise<Slice | undefined> {
    const entry = this.#entries.get(id)
    if (entry === undefined) throw runNotFound(id)
    const next = nextOf(entry)
    assertReadable(stored(entry), after)
    const start = after + 1 - entry.first
    if (after === next - 1) return undefined
    let end = start + 1
    let bytes = Buffer.byteLength(entry.records[start]!)
    for (; end < entry.records.length; end++) {
      bytes += Buffer.byteLength(entry.records[end]!)
      if (bytes > maxBytes) break
    }
    return this.#slice(entry, after + 1, entry.records.slice(start, end))
  }

  async trim(id: string, before: number): Promise<void> {
    const entry = this.#entries.get(id)
    if (entry === undefined) return
    const first = Math.max(entry.first, Math.min(before, nextOf(entry) - 1))
    let bytes = 0
    for (const record of entry.records.splice(0, first - entry.first)) bytes += Buffer.byteLength(record)
    entry.bytes -= bytes
    entry.first = first
    this.#totals.add(entry.run.owner, { logBytes: -bytes })
  }

  async size(): Promise<number> {
    let bytes = 0
    for (const entry of this.#entries.values()) bytes += entry.bytes
    return bytes
  }

  async claim(id: string, worker: string, ttlMs: number, options: ClaimOptions = {}): Promise<StoredRun | undefined> {
    const entry = this.#entries.get(id)
    if (entry === undefined || !this.#isClaimable(entry, options)) return undefined
    this.#take(entry, worker, ttlMs)
    return stored(entry)
  }

  /** An expired lease still belongs to its worker until another worker claims the run. */
  async renew(worker: string, ttlMs: number, components?: readonly string[]): Promise<readonly LeasedRun[]> {
    this.#served.note(worker, this.#clock.now() + ttlMs, components)
    const held = [...this.#entries.values()].filter((entry) => entry.lease?.worker === worker)
    for (const entry of held) entry.lease = { worker, until: this.#clock.now() + ttlMs }
    return held.map(({ run, epoch, stop, ...entry }) => ({
      id: run.id,
      epoch,
      next: nextOf(entry),
      ...(stop && { stop }),
    }))
  }

  async release(id: string, epoch: number): Promise<void> {
    const entry = this.#entries.get(id)
    if (entry?.lease === undefined || entry.epoch !== epoch) return
    entry.lease = undefined
    if (this.#isClaimable(entry)) this.#hint(entry, { claimable: true })
  }

  async claimable(limit: number, { components, takeover = true }: ClaimableQuery = {}): Promise<readonly string[]> {
    const isWanted = ({ run, stop }: Entry): boolean =>
      stop !== undefined || (components?.includes(run.component) ?? true)
    const first = this.#order.first(limit, (entry) => isWanted(entry) && this.#isClaimable(entry, { takeover }))
    return first.map(({ run }) => run.id)
  }

  async unserved(): Promise<readonly string[]> {
    return this.#served.without(this.#order.all(), ({ run }) => run.component, this.#clock.now())
  }

  async queued(owner?: string): Promise<number> {
    return this.#order.queued(owner)
  }

  async requestStop(id: string, stop: StopRequest): Promise<StoredRun | undefined> {
    const entry = this.#entries.get(id)
    if (entry === undefined) return undefined
    if (!isFinished(entry.run.status)) {
      entry.stop ??= stop
      this.#order.place(entry)
      this.#hint(entry, { stop: true })
    }
    return stored(entry)
  }

  watch(id: string, listener: HintListener): () => void {
    return this.#hints.watch(id, listener)
  }

  async close(): Promise<void> {
    this.#closed = true
  }

  #enter(entry: Entry, record: string): void {
    const { run, idempotency } = entry
    this.#entries.set(run.id, entry)
    this.#totals.add(run.owner, { runs: 1, logBytes: keep(entry, record) })
    this.#order.place(entry)
    if (idempotency !== undefined)
      this.#keys.set(keyOf(run.owner, idempotency.key), { id: run.id, fingerprint: idempotency.fingerprint })
    if (run.lane !== undefined && !isFinished(run.status))
      this.#lanes.set(run.lane, (this.#lanes.get(run.lane) ?? new Set()).add(run.id))
  }

  #admit({ stored: { run, first, epoch, stop }, idempotency }: TransferredRun, record: string): void {
    if (this.#entries.has(run.id)) throw idInUse(run.id)
    if (idempotency !== undefined && this.#keys.has(keyOf(run.owner, idempotency.key)))
      throw new HoldfastError('conflict', `run ${run.id}: its idempotency key is in use`)
    this.#enter({ run, number: ++this.#entered, records: [], first, bytes: 0, epoch, stop, idempotency }, record)
  }

  /** Atomic: appends the whole batch or nothing (LOG-1, LOG-3, LOG-4). */
  #commit(id: string, epoch: number, first: number, batch: readonly Append[]): void {
    const entry = this.#entries.get(id)
    if (entry === undefined) throw runNotFound(id)
    if (isFinished(entry.run.status)) throw hasEnded(id)
    if (epoch !== entry.epoch) throw claimedAgain(id, entry.epoch, epoch)
    if (first !== nextOf(entry)) throw expectsEvent(id, nextOf(entry), first)
    const records = batch.map((append) => append.record)
    let logBytes = 0
    for (const { record, change } of batch) {
      logBytes += keep(entry, record)
      if (change !== undefined) this.#change(entry, change)
    }
    this.#totals.add(entry.run.owner, { logBytes })
    this.#hint(entry, { slice: this.#slice(entry, first, records) })
    const following = isFinished(entry.run.status) ? this.#headOfLane(entry.run) : undefined
    if (following !== undefined && this.#isClaimable(following)) this.#hint(following, { claimable: true })
  }

  /** A paused or finished run needs no worker, so its lease ends. */
  #change(entry: Entry, run: Run): void {
    const finished = isFinished(run.status)
    if (finished || run.status === 'paused') entry.lease = undefined
    if (finished && run.lane !== undefined) {
      const lane = this.#lanes.get(run.lane)
      lane?.delete(run.id)
      if (lane?.size === 0) this.#lanes.delete(run.lane)
    }
    entry.run = run
    this.#order.place(entry)
  }

  #take(entry: Entry, worker: string, ttlMs: number): void {
    entry.epoch += 1
    entry.lease = { worker, until: this.#clock.now() + ttlMs }
  }

  #isClaimable({ run, lease, stop }: Entry, options: ClaimOptions = {}): boolean {
    const { paused = false, outOfOrder = false, takeover = true } = options
    const now = this.#clock.now()
    if (isFinished(run.status)) return false
    if (lease !== undefined && now < lease.until) return false
    if (stop !== undefined) return true
    if (lease !== undefined && !takeover) return false
    if (run.status === 'paused' && !paused && now < (run.wakeAt ?? Infinity)) return false
    return outOfOrder || run.lane === undefined || this.#headOfLane(run)?.run.id === run.id
  }

  #headOfLane(run: Run): Entry | undefined {
    const [head] = (run.lane !== undefined && this.#lanes.get(run.lane)) || []
    return head === undefined ? undefined : this.#entries.get(head)
  }

  #slice(entry: Entry, first: number, records: readonly string[]): Slice {
    const last = first + records.length - 1
    return sliceOf(first, records, last === nextOf(entry) - 1 && isFinished(entry.run.status))
  }

  /** Called last, when everything that the hint announces can be read. */
  #hint(entry: Entry, what: Omit<Hint, 'run' | 'next'>): void {
    this.#hints.give({ run: entry.run.id, next: nextOf(entry), ...what })
  }
}

function stored({ run, first, records, epoch, lease, stop }: Entry): StoredRun {
  return { run, first, next: first + records.length, epoch, ...(lease && { lease }), ...(stop && { stop }) }
}

function keyOf(owner: string, key: string): string {
  return JSON.stringify([owner, key])
}

function idempotencyField(idempotency: NewRun['idempotency']): Pick<TransferredRun, 'idempotency'> {
  return idempotency === undefined ? {} : { idempotency }
}

function nextOf(entry: Pick<Entry, 'first' | 'records'>): number {
  return entry.first + entry.records.length
}

/** Returns the record's size in bytes. */
function keep(entry: Entry, record: string): number {
  const bytes = Buffer.byteLength(record)
  entry.records.push(record)
  entry.bytes += bytes
  return bytes
}

function matches(run: Run, { owner, component, session, status, version }: RunQuery): boolean {
  return (
    (owner === undefined || run.owner === owner) &&
    (component === undefined || run.component === component) &&
    (session === undefined || run.session === session) &&
    (status === undefined || status.includes(run.status)) &&
    (version === undefined || run.version === version)
  )
}
