/**
 * Embedded store: one SQLite file, one process. Commands are decided in memory, made durable by group commit in the committing
 * thread, and become visible only then.
 */
import type { Clock } from '../../core/ports/clock.ts'
import { HoldfastError, isHoldfastError } from '../../core/model/errors.ts'
import { Hints } from '../../core/delivery/hints.ts'
import type { TransferredRun, StoreTransfer } from '../../core/ports/store-transfer.ts'
import type { Position } from '../../core/model/page.ts'
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
import { KeyedMutex } from '../shared/keyed-mutex.ts'
import { ServedComponents } from '../shared/served-components.ts'
import { ActiveRun } from './runs/active-run.ts'
import { FileConnection, type FileConnectionOptions } from './file-connection.ts'
import { DamageRegister } from './runs/damage-register.ts'
import { type DocumentAccess, SqliteDocuments } from './documents.ts'
import { RunCatalog } from './runs/run-catalog.ts'
import type { ActiveRunIndex } from './runs/active-run-index.ts'
import { SqliteTransfer } from './transfer.ts'
import { SqliteWriter } from './runs/writer.ts'
import { notFinished } from '../shared/refusals.ts'

export interface SqliteStoreOptions extends FileConnectionOptions {
  readonly clock: Clock
  /** Called with a message that names the quarantined run and the reason. */
  readonly onDamage: (what: string) => void
}

export class SqliteStore implements Store {
  readonly name = 'sqlite'
  readonly capabilities: StoreCapabilities = { durable: true, shared: false }
  readonly documents: SqliteDocuments
  readonly transfer: StoreTransfer
  readonly usage: StoredUsage = {
    of: (owner) => this.#connection.request('usage', owner),
    total: () => this.#connection.request('usageTotal'),
    largest: (limit) => this.#connection.request('usageLargest', limit),
    finishedRuns: async (owner, limit, after) => {
      const found = await this.#connection.request('finishedRuns', owner, limit, after)
      return found.map(({ stored, bytes }) => ({ stored: this.#catalog.latest(stored), bytes }))
    },
  }
  readonly #clock: Clock
  readonly #connection: FileConnection
  readonly #catalog: RunCatalog
  readonly #hints = new Hints()
  readonly #served = new ServedComponents()
  /** Commands that read the file before they decide, by run and by idempotency key. */
  readonly #locks = new KeyedMutex()

  private constructor(options: SqliteStoreOptions) {
    this.#clock = options.clock
    this.#connection = new FileConnection(options, {
      opened: (thread, opening) => this.#catalog.opened(thread, opening),
      durable: (active, slice) => this.#announce(active, slice),
      idle: (active) => this.#catalog.forget(active),
      quarantined: (found) => this.#catalog.quarantine(found),
      failed: (cause) => this.#drop(cause),
      stalled: (cause) => {
        for (const active of this.#active.all()) active.stall(cause)
      },
      reopened: () => this.#offerAll(),
    })
    this.#catalog = new RunCatalog(this.#connection, new DamageRegister(options.onDamage), ({ run }) =>
      this.#hintHeir(run.lane),
    )
    const documents: DocumentAccess = {
      request: (name, ...args) => this.#connection.request(name, ...args),
      write: async (command) => {
        this.#connection.assertHealthy()
        return this.#connection.commits.document(command)
      },
    }
    this.documents = new SqliteDocuments(documents, this.#clock)
    this.transfer = new SqliteTransfer({
      workers: () => this.#workers(),
      runs: (limit, after) => this.#transferable(limit, after),
      admit: (kept, record) => this.#locks.do(kept.stored.run.id, () => this.#admit(kept, record)),
      documents,
    })
  }

  static async open(options: SqliteStoreOptions): Promise<SqliteStore> {
    const store = new SqliteStore(options)
    await store.#connection.open()
    return store
  }

  get #active(): ActiveRunIndex {
    return this.#catalog.active
  }

  health(): StoreHealth {
    const { outage, warning } = this.#connection
    if (outage !== undefined) return { ok: false, reason: outage }
    const alarms = [...(warning === undefined ? [] : [warning]), ...this.#catalog.damage.alarms]
    return alarms.length === 0 ? { ok: true } : { ok: true, alarms }
  }

  create(request: NewRun): Promise<CreateResult> {
    const { run, idempotency } = request
    const create = (): Promise<CreateResult> => this.#locks.do(run.id, () => this.#create(request))
    return idempotency === undefined ? create() : this.#locks.do(keyOf(run.owner, idempotency.key), create)
  }

  async #create(request: NewRun): Promise<CreateResult> {
    this.#connection.assertHealthy()
    const { run, idempotency } = request
    const creating = idempotency && this.#catalog.creating(run.owner, idempotency.key)
    const found = creating ?? (await this.#catalog.checkCreation(run, idempotency?.key))
    if (found !== undefined) {
      const kind = found.fingerprint === idempotency!.fingerprint ? 'existing' : 'key_conflict'
      return { kind, stored: await found.stored() }
    }
    this.#connection.assertHealthy()
    const busy = request.rejectIfBusy ? this.#active.head(run.lane) : undefined
    if (busy !== undefined) return { kind: 'busy', stored: busy.view() ?? busy.snapshot() }
    this.#connection.assertBacklogBelow()
    const head: StoredRun = { run, first: 0, next: 1, epoch: 0 }
    const active = ActiveRun.created(this.#catalog.newNumber(), head, request.record, idempotency)
    this.#active.add(active)
    if (request.claim !== undefined && this.#active.isHead(active))
      active.claim(request.claim.worker, this.#clock.now() + request.claim.ttlMs)
    const stored = active.snapshot()
    await this.#claimed(active)
    if (stored.lease === undefined && this.#active.isHead(active))
      this.#hints.give({ run: request.run.id, next: 1, claimable: true })
    return { kind: 'created', stored }
  }

  get(id: string): Promise<StoredRun | undefined> {
    return this.#catalog.get(id)
  }

  async findByKey(owner: string, key: string): Promise<{ stored: StoredRun; fingerprint: string } | undefined> {
    const known = await this.#catalog.byKey(owner, key)
    return known && { stored: await known.stored(), fingerprint: known.fingerprint }
  }

  list(query: RunQuery): Promise<StoredRunPage> {
    return this.#catalog.list(query)
  }

  remove(id: string): Promise<boolean> {
    return this.#locks.do(id, () => this.#remove(id))
  }

  async #remove(id: string): Promise<boolean> {
    this.#connection.assertHealthy()
    // It can be read until the removal is durable. It is kept here so that nothing more is written to it.
    const active = await this.#catalog.load(id)
    const stored = active?.view()
    if (active === undefined || stored === undefined) return false
    if (!isFinished(stored.run.status) && stored.damage === undefined) throw notFinished(id, stored.run.status)
    try {
      await this.#connection.commits.remove(active)
    } catch (cause) {
      if (isHoldfastError(cause, 'log_damaged')) this.#active.delete(active) // it stays, and is read from the file
      throw cause
    }
    this.#active.delete(active)
    if (stored.damage !== undefined) this.#catalog.damage.removed(id)
    return true
  }

  writer(
    id: string,
    claim: { readonly epoch: number; readonly next: number },
    onRefused?: (cause: unknown) => void,
  ): LogWriter {
    const active = this.#active.get(id)
    active?.onFailed(onRefused)
    return new SqliteWriter(this.#connection.commits, active, id, claim, (changed) => this.#active.changed(changed))
  }

  read(id: string, after: number, maxBytes: number): Promise<Slice | undefined> {
    return this.#catalog.read(id, after, maxBytes)
  }

  trim(id: string, before: number): Promise<void> {
    return this.#locks.do(id, () => this.#trim(id, before))
  }

  async #trim(id: string, before: number): Promise<void> {
    this.#connection.assertHealthy()
    const active = await this.#catalog.load(id)
    if (active === undefined || active.isRemoved || active.damage !== undefined) return
    const first = Math.min(before, active.next - 1)
    if (first <= active.first) return
    active.trim(first)
    await this.#connection.commits.changed(active)
    if (active.finished) this.#catalog.forget(active)
  }

  size(): Promise<number> {
    return this.#connection.request('size')
  }

  async claim(id: string, worker: string, ttlMs: number, options: ClaimOptions = {}): Promise<StoredRun | undefined> {
    this.#connection.assertHealthy()
    const active = this.#active.get(id)
    const now = this.#clock.now()
    if (active === undefined || !this.#active.isClaimable(active, now, options)) return undefined
    active.claim(worker, now + ttlMs)
    const stored = active.snapshot()
    await this.#claimed(active)
    return stored
  }

  renew(worker: string, ttlMs: number, components?: readonly string[]): Promise<readonly LeasedRun[]> {
    const until = this.#clock.now() + ttlMs
    this.#served.note(worker, until, components)
    const renewed: LeasedRun[] = []
    for (const active of this.#active.all()) {
      if (active.lease?.worker !== worker) continue
      active.renew(until)
      const { next = 0, stop } = active.durable ?? {}
      renewed.push({ id: active.run.id, epoch: active.epoch, next, ...(stop && { stop }) })
    }
    return Promise.resolve(renewed)
  }

  release(id: string, epoch: number): Promise<void> {
    const active = this.#active.get(id)
    if (active !== undefined && active.epoch === epoch) {
      active.release()
      if (!active.finished) this.#hints.give({ run: id, next: active.durable?.next ?? 0, claimable: true })
    }
    return Promise.resolve()
  }

  claimable(limit: number, query: ClaimableQuery = {}): Promise<readonly string[]> {
    const first = this.#active.claimable(limit, this.#clock.now(), query)
    return Promise.resolve(first.map(({ run }) => run.id))
  }

  unserved(): Promise<readonly string[]> {
    const now = this.#clock.now()
    return Promise.resolve(this.#served.without(this.#active.waiting(), ({ run }) => run.component, now))
  }

  queued(owner?: string): Promise<number> {
    return Promise.resolve(this.#active.queued(owner))
  }

  async requestStop(id: string, stop: StopRequest): Promise<StoredRun | undefined> {
    this.#connection.assertHealthy()
    const active = this.#active.get(id)
    if (active === undefined) return this.get(id)
    if (active.damage !== undefined) return active.view()
    if (active.finished) return active.pending > 0 ? active.wait().then(() => active.view()) : active.view()
    if (active.stop === undefined) {
      active.requestStop(stop)
      this.#active.changed(active)
      await this.#connection.commits.changed(active)
      this.#hints.give({ run: id, next: active.durable!.next, stop: true })
    } else if (active.durable?.stop === undefined) {
      await active.wait() // another caller requested it, and that is not durable yet
    }
    return active.view()
  }

  watch(id: string, listener: HintListener): () => void {
    return this.#hints.watch(id, listener)
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  /** Workers with leases in this process: there are no others. */
  #workers(): readonly string[] {
    const now = this.#clock.now()
    const held = [...this.#active.all()].filter((active) => active.isHeld(now))
    return [...new Set(held.map((active) => active.lease!.worker))]
  }

  async #transferable(limit: number, after: Position | undefined): Promise<readonly TransferredRun[]> {
    const found = await this.#connection.request('runsFollowing', limit, after)
    return found.map(({ stored, idempotency }) => ({
      stored: this.#catalog.latest(stored),
      ...(idempotency !== undefined && { idempotency }),
    }))
  }

  async #admit({ stored, idempotency }: TransferredRun, record: string): Promise<void> {
    this.#connection.assertHealthy()
    const { run, first, epoch, stop } = stored
    const creating = idempotency && this.#catalog.creating(run.owner, idempotency.key)
    if ((creating ?? (await this.#catalog.checkCreation(run, idempotency?.key))) !== undefined)
      throw new HoldfastError('conflict', `run ${run.id}: its idempotency key is in use`)
    this.#connection.assertHealthy()
    const head: StoredRun = { run, first, next: first + 1, epoch, ...(stop !== undefined && { stop }) }
    const active = ActiveRun.imported(this.#catalog.newNumber(), head, record, idempotency)
    this.#active.add(active)
    await this.#connection.commits.changed(active)
  }

  /** Records of a run, or its row, became durable. */
  #announce(active: ActiveRun, slice: Slice | undefined): void {
    const { run, next } = active.durable!
    this.#hints.give({ run: run.id, next, ...(slice !== undefined && { slice }) })
    if (isFinished(run.status)) this.#hintHeir(run.lane)
  }

  #hintHeir(lane: string | undefined): void {
    const nextInLane = this.#active.head(lane)
    if (nextInLane !== undefined)
      this.#hints.give({ run: nextInLane.run.id, next: nextInLane.durable?.next ?? 0, claimable: true })
  }

  /** Resolves when a claim is durable. If that fails, the caller does not execute the run; another worker may claim it. */
  async #claimed(active: ActiveRun): Promise<void> {
    try {
      await this.#connection.commits.changed(active)
    } catch (cause) {
      active.release()
      const { id } = active.run
      const offer = (): void => this.#hints.give({ run: id, next: active.durable?.next ?? 0, claimable: true })
      active.wait({ patient: true }).then(offer, () => {})
      throw cause
    }
  }

  /** Rejects the waits for changes that are not durable; a run whose creation is not durable never existed. */
  #drop(cause: HoldfastError): void {
    for (const active of this.#active.all()) active.fail(cause)
    for (const active of this.#active.all()) if (active.durable === undefined) this.#active.delete(active)
  }

  #offerAll(): void {
    for (const { run, durable } of this.#active.all())
      this.#hints.give({ run: run.id, next: durable!.next, claimable: true })
  }
}

function keyOf(owner: string, key: string): string {
  return JSON.stringify([owner, key])
}
