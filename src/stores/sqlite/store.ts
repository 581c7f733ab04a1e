/**
 * The embedded store: one SQLite file, one process. Commands are decided in memory, made durable by group commit in the
 * committing thread, and only then seen by anyone.
 */
import type { Clock } from '../../core/clock.ts'
import { assertReadable } from '../../core/cursor.ts'
import { HoldfastError } from '../../core/errors.ts'
import { Hints } from '../../core/hints.ts'
import type { KeptRun, Moving } from '../../core/moving.ts'
import { cursorOf, type Position } from '../../core/page.ts'
import { lastOf, type Slice, sliceBefore, sliceWithin } from '../../core/record.ts'
import { isFinished } from '../../core/run.ts'
import type {
  ClaimOptions,
  Created,
  HintListener,
  LogWriter,
  NewRun,
  RunPage,
  RunQuery,
  StopRequest,
  Store,
  StoreCapabilities,
  StoredRun,
  StoreHealth,
} from '../../core/store.ts'
import { joinAfter } from '../shared/join-slices.ts'
import { Turns } from '../shared/turns.ts'
import { ActiveRun } from './active-run.ts'
import { type DocumentAccess, SqliteDocuments } from './documents.ts'
import { CommittingThread } from './committing-thread.ts'
import type { FileLock } from './file.ts'
import { GroupCommit } from './group-commit.ts'
import { Lanes } from './lanes.ts'
import { SqliteMoving } from './moving.ts'
import { Reader } from './reader.ts'
import { SqliteWriter } from './writer.ts'

export interface SqliteStoreOptions {
  readonly path: string
  /** On that file; the store lets it go when it closes. */
  readonly lock: FileLock
  /** The first of the threads that commit to it. */
  readonly thread: Promise<CommittingThread>
  readonly clock: Clock
  /** Wait between attempts to open the file again after it failed. */
  readonly reopenMs: number
}

export class SqliteStore implements Store {
  readonly name = 'sqlite'
  readonly capabilities: StoreCapabilities = { durable: true, shared: false }
  readonly documents: SqliteDocuments
  readonly moving: Moving
  readonly #options: SqliteStoreOptions
  readonly #hints = new Hints()
  readonly #active = new Map<string, ActiveRun>()
  readonly #lanes = new Lanes()
  readonly #turns = new Turns<ActiveRun>()
  #reader!: Reader
  #commits!: GroupCommit
  #highestNumber = 0
  #failure: string | undefined
  #reopenTimer: NodeJS.Timeout | undefined
  #closed = false

  private constructor(options: SqliteStoreOptions) {
    this.#options = options
    const documents: DocumentAccess = {
      read: (read) => this.#reading(() => read(this.#reader.documents)),
      write: async (command) => {
        this.#assertHealthy()
        return this.#commits.document(command)
      },
    }
    this.documents = new SqliteDocuments(documents, options.clock)
    this.moving = new SqliteMoving({
      workers: () => this.#workers(),
      runs: (limit, after) => this.#kept(limit, after),
      admit: (kept, record) => this.#admit(kept, record),
      documents,
    })
  }

  static async open(options: SqliteStoreOptions): Promise<SqliteStore> {
    const store = new SqliteStore(options)
    try {
      store.#open(await options.thread)
    } catch (cause) {
      store.#options.lock.release()
      throw cause
    }
    return store
  }

  #open(thread: CommittingThread): void {
    const commits = new GroupCommit(thread, {
      durable: (active, slice) => this.#announce(active, slice),
      idle: (active) => this.#forget(active),
      failed: (message) => this.#fail(message),
    })
    this.#reader = new Reader(this.#options.path)
    this.#commits = commits
    this.#highestNumber = this.#reader.highestNumber()
    this.#active.clear()
    this.#lanes.clear()
    this.#turns.clear()
    for (const { number, stored, idempotency } of this.#reader.unfinished()) {
      // No lease: the lock says that whoever held one is dead.
      const active = new ActiveRun(number, stored, idempotency)
      active.durable = active.snapshot()
      this.#keep(active)
    }
  }

  health(): StoreHealth {
    return this.#failure === undefined ? { ok: true } : { ok: false, reason: this.#failure }
  }

  async create(request: NewRun): Promise<Created> {
    this.#assertHealthy()
    const known = request.idempotency && this.#byKey(request.run.owner, request.idempotency.key)
    if (known !== undefined) {
      const kind = known.fingerprint === request.idempotency!.fingerprint ? 'existing' : 'key_conflict'
      return { kind, stored: await known.stored() }
    }
    const busy = request.rejectIfBusy ? this.#lanes.head(request.run.lane) : undefined
    if (busy !== undefined) return { kind: 'busy', stored: busy.view() ?? busy.snapshot() }
    this.#assertNew(request.run.id)
    const active = new ActiveRun(
      ++this.#highestNumber,
      { run: request.run, first: 0, next: 1, epoch: 0 },
      request.idempotency,
    )
    active.text = request.record
    active.textCount = 1
    active.isNew = true
    this.#keep(active)
    if (request.claim !== undefined && this.#lanes.isHead(active)) {
      active.epoch = 1
      active.lease = { owner: request.claim.owner, until: this.#options.clock.now() + request.claim.ttlMs }
    }
    const stored = active.snapshot()
    await this.#commits.changed(active)
    if (stored.lease === undefined && this.#lanes.isHead(active))
      this.#hints.give({ run: request.run.id, next: 1, claimable: true })
    return { kind: 'created', stored }
  }

  get(id: string): Promise<StoredRun | undefined> {
    return this.#reading(() => this.#durable(id)?.stored)
  }

  async findByKey(owner: string, key: string): Promise<{ stored: StoredRun; fingerprint: string } | undefined> {
    const known = await this.#reading(() => this.#byKey(owner, key))
    return known && { stored: await known.stored(), fingerprint: known.fingerprint }
  }

  list(query: RunQuery): Promise<RunPage> {
    return this.#reading(() => {
      const found = this.#reader.list({ ...query, limit: query.limit + 1 })
      const runs = found.slice(0, query.limit).map(({ stored }) => this.#active.get(stored.run.id)?.view() ?? stored)
      return found.length > query.limit ? { runs, cursor: cursorOf(runs.at(-1)!.run) } : { runs }
    })
  }

  async remove(id: string): Promise<boolean> {
    this.#assertHealthy()
    const found = this.#durable(id)
    if (found === undefined) return false
    if (!isFinished(found.stored.run.status))
      throw new HoldfastError('conflict', `run ${id} is ${found.stored.run.status}; stop it first`)
    this.#active.delete(id)
    await this.#commits.remove(found.number)
    return true
  }

  writer(id: string, claim: { readonly epoch: number; readonly next: number }): LogWriter {
    return new SqliteWriter(this.#commits, this.#active.get(id), id, claim, (active) => this.#changed(active))
  }

  read(id: string, after: number, bytesMax: number): Promise<Slice | undefined> {
    return this.#reading(() => {
      const found = this.#durable(id)
      if (found === undefined) throw new HoldfastError('not_found', `no run ${id}`)
      const { next, run } = found.stored
      assertReadable(found.stored, after)
      if (after === next - 1) return undefined
      const tail = this.#active.get(id)?.tail.slice()
      const from =
        tail !== undefined && tail.count > 0 && after + 1 >= tail.first
          ? [tail]
          : this.#segments(found.number, after + 1, bytesMax)
      // A commit may be in the file before this thread has heard of it; what it holds is not announced yet.
      const slice = sliceWithin(sliceBefore(joinAfter(from, after, bytesMax), next), bytesMax)
      return { ...slice, closed: isFinished(run.status) && lastOf(slice) === next - 1 }
    })
  }

  async trim(id: string, before: number): Promise<void> {
    this.#assertHealthy()
    const active = this.#active.get(id) ?? this.#load(id)
    if (active === undefined) return
    const first = Math.min(before, active.next - 1)
    if (first <= active.first) return
    active.first = first
    await this.#commits.trim(active)
    if (active.finished) this.#forget(active)
  }

  size(): Promise<number> {
    return this.#reading(() => this.#reader.size())
  }

  async claim(id: string, owner: string, ttlMs: number, options: ClaimOptions = {}): Promise<StoredRun | undefined> {
    this.#assertHealthy()
    const active = this.#active.get(id)
    const now = this.#options.clock.now()
    if (active === undefined || !this.#isClaimable(active, now, options)) return undefined
    active.epoch++
    active.lease = { owner, until: now + ttlMs }
    const stored = active.snapshot()
    await this.#commits.changed(active)
    return stored
  }

  renew(owner: string, ttlMs: number): Promise<readonly string[]> {
    const until = this.#options.clock.now() + ttlMs
    const renewed: string[] = []
    for (const active of this.#active.values()) {
      if (active.lease?.owner !== owner) continue
      active.lease = { owner, until }
      renewed.push(active.run.id)
    }
    return Promise.resolve(renewed)
  }

  release(id: string, epoch: number): Promise<void> {
    const active = this.#active.get(id)
    if (active !== undefined && active.epoch === epoch) {
      active.lease = undefined
      if (!active.finished) this.#hints.give({ run: id, next: active.durable?.next ?? 0, claimable: true })
    }
    return Promise.resolve()
  }

  claimable(limit: number, components?: readonly string[]): Promise<readonly string[]> {
    const now = this.#options.clock.now()
    const isWanted = ({ run }: ActiveRun): boolean => components?.includes(run.component) ?? true
    const first = this.#turns.first(limit, (active) => isWanted(active) && this.#isClaimable(active, now))
    return Promise.resolve(first.map(({ run }) => run.id))
  }

  queued(owner?: string): Promise<number> {
    return Promise.resolve(this.#turns.queued(owner))
  }

  async requestStop(id: string, stop: StopRequest): Promise<StoredRun | undefined> {
    this.#assertHealthy()
    const active = this.#active.get(id)
    if (active === undefined) return this.#durable(id)?.stored
    if (active.finished) return active.pending > 0 ? active.wait().then(() => active.view()) : active.view()
    if (active.stop === undefined) {
      active.stop = stop
      this.#turns.place(active)
      await this.#commits.changed(active)
      this.#hints.give({ run: id, next: active.durable!.next, stop: true })
    } else if (active.durable?.stop === undefined) {
      await active.wait() // another has asked, and that is not durable yet
    }
    return active.view()
  }

  watch(id: string, listener: HintListener): () => void {
    return this.#hints.watch(id, listener)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#reopenTimer)
    await this.#commits.close()
    this.#reader.close()
    this.#options.lock.release()
  }

  /** Runs that this process holds: nobody else can be at work. */
  #workers(): readonly string[] {
    const now = this.#options.clock.now()
    const held = [...this.#active.values()].filter((active) => active.isHeld(now))
    return [...new Set(held.map((active) => active.lease!.owner))]
  }

  #kept(limit: number, after: Position | undefined): Promise<readonly KeptRun[]> {
    return this.#reading(() =>
      this.#reader.following(limit, after).map(({ stored, idempotency }) => ({
        stored: this.#active.get(stored.run.id)?.view() ?? stored,
        ...(idempotency !== undefined && { idempotency }),
      })),
    )
  }

  async #admit({ stored, idempotency }: KeptRun, record: string): Promise<void> {
    this.#assertHealthy()
    const { run, first, epoch, stop } = stored
    this.#assertNew(run.id)
    if (idempotency !== undefined && this.#byKey(run.owner, idempotency.key) !== undefined)
      throw new HoldfastError('conflict', `run ${run.id}: its idempotency key is in use`)
    const head: StoredRun = { run, first, next: first + 1, epoch, ...(stop !== undefined && { stop }) }
    const active = new ActiveRun(++this.#highestNumber, head, idempotency)
    active.text = record
    active.textCount = 1
    this.#keep(active)
    await this.#commits.changed(active)
  }

  #assertNew(id: string): void {
    if (!this.#active.has(id) && this.#reader.run(id) === undefined) return
    throw new HoldfastError('conflict', `run ${id} exists`)
  }

  /** Records of a run became durable, or its row did. */
  #announce(active: ActiveRun, slice: Slice | undefined): void {
    const { run, next } = active.durable!
    this.#hints.give({ run: run.id, next, ...(slice !== undefined && { slice }) })
    if (!isFinished(run.status)) return
    const heir = this.#lanes.head(run.lane)
    if (heir !== undefined) this.#hints.give({ run: heir.run.id, next: heir.durable?.next ?? 0, claimable: true })
  }

  #isClaimable(active: ActiveRun, now: number, { paused = false, outOfTurn = false }: ClaimOptions = {}): boolean {
    if (active.finished || active.isHeld(now) || active.durable === undefined) return false
    if (active.stop !== undefined) return true
    if (active.run.status === 'paused' && !paused && now < (active.run.wakeAt ?? Infinity)) return false
    return outOfTurn || this.#lanes.isHead(active)
  }

  #keep(active: ActiveRun): void {
    this.#active.set(active.run.id, active)
    if (!active.finished) this.#lanes.join(active)
    this.#turns.place(active)
  }

  #changed(active: ActiveRun): void {
    if (active.finished) this.#lanes.leave(active)
    this.#turns.place(active)
  }

  /** A finished run whose records are all in segments is the file's business. */
  #forget(active: ActiveRun): void {
    if (active.finished && active.tail.isEmpty && active.pending === 0) this.#active.delete(active.run.id)
  }

  #load(id: string): ActiveRun | undefined {
    const found = this.#reader.run(id)
    if (found === undefined) return undefined
    const active = new ActiveRun(found.number, found.stored, found.idempotency)
    active.durable = found.stored
    this.#active.set(id, active)
    return active
  }

  #durable(id: string): { readonly number: number; readonly stored: StoredRun } | undefined {
    const active = this.#active.get(id)
    if (active === undefined) return this.#reader.run(id)
    const stored = active.view()
    return stored && { number: active.number, stored }
  }

  #byKey(owner: string, key: string): { readonly fingerprint: string; stored(): Promise<StoredRun> } | undefined {
    for (const active of this.#commits.creating()) {
      if (active.run.owner !== owner || active.idempotency?.key !== key) continue
      return { fingerprint: active.idempotency.fingerprint, stored: () => active.wait().then(() => active.view()!) }
    }
    const found = this.#reader.runByKey(owner, key)
    if (found === undefined) return undefined
    const stored = this.#active.get(found.stored.run.id)?.view() ?? found.stored
    return { fingerprint: found.idempotency!.fingerprint, stored: () => Promise.resolve(stored) }
  }

  #segments(number: number, from: number, bytesMax: number): Slice[] {
    return this.#reader.segments(number, from, bytesMax).map((segment) => ({ ...segment, closed: false }))
  }

  async #reading<Result>(read: () => Result): Promise<Result> {
    if (this.#closed) throw new HoldfastError('unavailable', 'the store is closed')
    try {
      return read()
    } catch (cause) {
      if (cause instanceof HoldfastError) throw cause
      throw new HoldfastError('unavailable', `the store cannot be read: ${String(cause)}`, {
        cause,
        retryAfterMs: this.#options.reopenMs,
      })
    }
  }

  #assertHealthy(): void {
    const reason = this.#closed ? 'it is closed' : this.#failure
    if (reason !== undefined)
      throw new HoldfastError('unavailable', `the store takes no writes: ${reason}`, {
        retryAfterMs: this.#options.reopenMs,
      })
  }

  /**
   * A commit failed. What was accepted and is not durable is dropped: whoever waits for it is told, and nobody has seen it.
   * The file is then opened anew, as after a crash; until that works the store is unhealthy.
   */
  #fail(message: string): void {
    if (this.#failure === undefined) {
      this.#failure = message
      const cause = new HoldfastError('unavailable', `the store takes no writes: ${message}`, {
        retryAfterMs: this.#options.reopenMs,
      })
      for (const active of this.#active.values()) active.fail(cause)
      for (const [id, active] of this.#active) if (active.durable === undefined) this.#active.delete(id)
    }
    if (!this.#closed) this.#reopenTimer = setTimeout(() => void this.#reopen(), this.#options.reopenMs)
  }

  async #reopen(): Promise<void> {
    const reader = this.#reader
    try {
      await this.#commits.abandon()
      this.#open(await CommittingThread.open(this.#options.path))
      reader.close()
    } catch (cause) {
      return this.#fail(String(cause))
    }
    this.#failure = undefined
    for (const [id, active] of this.#active) this.#hints.give({ run: id, next: active.durable!.next, claimable: true })
  }
}
