/**
 * Embedded store: one SQLite file, one process. Commands are decided in memory, made durable by group commit in the committing
 * thread, and become visible only then.
 */
import type { Clock } from '../../core/ports/clock.ts'
import { assertReadable } from '../../core/model/cursor.ts'
import { HoldfastError, detailOf, storeUnavailable } from '../../core/model/errors.ts'
import { Hints } from '../../core/delivery/hints.ts'
import type { Logger } from '../../core/ports/logger.ts'
import type { TransferredRun, StoreTransfer } from '../../core/ports/store-transfer.ts'
import { cursorOf, type Position } from '../../core/model/page.ts'
import { lastOf, type Slice, sliceBefore, sliceWithin } from '../../core/model/record.ts'
import { isFinished, type Run } from '../../core/model/run.ts'
import type {
  ClaimableQuery,
  ClaimOptions,
  CreateResult,
  HeldRun,
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
} from '../../core/ports/store.ts'
import type { StoredUsage } from '../../core/model/storage-usage.ts'
import { KeyedMutex } from '../shared/keyed-mutex.ts'
import { ServedComponents } from '../shared/served-components.ts'
import { ActiveRun } from './active-run.ts'
import { type DocumentAccess, SqliteDocuments } from './documents.ts'
import { CommittingThread } from './committing-thread.ts'
import type { FileIdentity } from './file-identity.ts'
import { GroupCommit } from './group-commit.ts'
import { FencedError } from './instance.ts'
import type { FileLock } from './lock.ts'
import type { QuarantinedRun, ThreadOptions } from './messages.ts'
import { SqliteTransfer } from './transfer.ts'
import { PinnedJournal } from './pinned-journal.ts'
import { DamageRegister } from './damage-register.ts'
import { damageError } from './quarantine.ts'
import { headOf, type LogHead, type PageRequest } from './log-page.ts'
import { type Opening, Reader } from './reader.ts'
import { ReadingThread } from './reading-thread.ts'
import type { Readings } from './readings.ts'
import type { NumberedRun } from './run-rows.ts'
import { RunIndex } from './run-index.ts'
import { ThreadWatch } from './thread-watch.ts'
import { SqliteWriter } from './writer.ts'

export interface SqliteStoreOptions {
  /** Lock of the file; released when the store closes. */
  readonly lock: FileLock
  /** The first committing thread. */
  readonly thread: Promise<CommittingThread>
  readonly clock: Clock
  /** Delay between attempts to reopen the file after a failure. */
  readonly reopenMs: number
  /** Uncompacted log bytes, held in memory, above which starts are refused. */
  readonly backlogBytesMax: number
  /** Interval of the checks that the file still exists. */
  readonly watchMs: number
  /** For the threads after the first. */
  readonly threadOptions: Omit<ThreadOptions, 'reopen'>
  readonly logger: Logger
  /** Called with each quarantined run and the reason. */
  readonly onDamage: (what: string) => void
}

const BACKLOG_RETRY_MS = 1000

/** A run with an idempotency key. */
interface KeyedRun {
  readonly fingerprint: string
  /** Resolves when its creation is durable. */
  stored(): Promise<StoredRun>
}

export class SqliteStore implements Store {
  readonly name = 'sqlite'
  readonly capabilities: StoreCapabilities = { durable: true, shared: false }
  readonly documents: SqliteDocuments
  readonly transfer: StoreTransfer
  readonly usage: StoredUsage = {
    of: (owner) => this.#ask('usage', owner),
    total: () => this.#ask('usageTotal'),
    largest: (limit) => this.#ask('usageLargest', limit),
    finishedRuns: async (owner, limit, after) => {
      const found = await this.#ask('finishedRuns', owner, limit, after)
      return found.map(({ stored, bytes }) => ({ stored: this.#latest(stored), bytes }))
    },
  }
  readonly #options: SqliteStoreOptions
  readonly #hints = new Hints()
  readonly #active = new RunIndex()
  readonly #served = new ServedComponents()
  readonly #pinned: PinnedJournal
  readonly #reads: ReadingThread
  /** Serializes commands that read the file before they decide, by run and by idempotency key. */
  readonly #turns = new KeyedMutex()
  #commits!: GroupCommit
  #watch!: ThreadWatch
  #identity!: FileIdentity
  #highestNumber = 0
  readonly #damage: DamageRegister
  #failure: string | undefined
  /** Another process has taken over the file, permanently. */
  #fenced = false
  #reopenTimer: NodeJS.Timeout | undefined
  #closed = false

  private constructor(options: SqliteStoreOptions) {
    this.#options = options
    this.#pinned = new PinnedJournal(options.lock.path, options.logger)
    this.#damage = new DamageRegister(options.onDamage)
    this.#reads = new ReadingThread(options.lock.path, options.watchMs, (reason) =>
      options.logger.error({ store: options.lock.path, reason }, 'the store cannot be read'),
    )
    const documents: DocumentAccess = {
      ask: (name, ...args) => this.#ask(name, ...args),
      write: async (command) => {
        this.#assertHealthy()
        return this.#commits.document(command)
      },
    }
    this.documents = new SqliteDocuments(documents, options.clock)
    this.transfer = new SqliteTransfer({
      workers: () => this.#workers(),
      runs: (limit, after) => this.#kept(limit, after),
      admit: (kept, record) => this.#turns.do(kept.stored.run.id, () => this.#admit(kept, record)),
      documents,
    })
  }

  static async open(options: SqliteStoreOptions): Promise<SqliteStore> {
    const store = new SqliteStore(options)
    try {
      store.#reads.start() // it loads while the other thread opens the file
      const thread = await options.thread
      store.#reads.ask('size').catch(() => {}) // so that the first request finds the file open
      store.#open(thread, openingOf(options.lock.path))
    } catch (cause) {
      await store.#reads.close()
      store.#options.lock.release()
      throw cause
    }
    return store
  }

  #open(thread: CommittingThread, { highestNumber, damagedRuns, unfinished }: Opening): void {
    const commits = new GroupCommit(thread, {
      durable: (active, slice) => this.#announce(active, slice),
      idle: (active) => this.#forget(active),
      quarantined: (found) => this.#setApart(found),
      failed: ({ message, because }) => this.#fail({ message, fenced: because === 'fenced' }),
    })
    this.#commits = commits
    this.#identity = thread.identity
    this.#watch = new ThreadWatch(
      thread,
      {
        failed: (failure) => commits.fail(failure),
        stalled: (reason) => this.#stall(reason),
        pinned: (bytes) => this.#pinned.update(bytes),
      },
      this.#options.watchMs,
    )
    this.#highestNumber = highestNumber
    this.#active.clear()
    this.#damage.opened(damagedRuns, thread.warnings, thread.lost)
    this.#damage.unreadable(unfinished.unreadable)
    for (const { number, stored, idempotency } of unfinished.runs) {
      // No lease: the lock says that whoever held one is dead.
      const active = ActiveRun.loaded(number, stored, idempotency)
      if (stored.damage === undefined) {
        this.#active.add(active)
        continue
      }
      this.#active.hold(active)
      this.#quarantine({ number, id: stored.run.id, damage: stored.damage })
    }
  }

  health(): StoreHealth {
    const reason = this.#failure ?? this.#watch.stall ?? this.#reads.stall
    if (reason !== undefined) return { ok: false, reason }
    const { warning } = this.#pinned
    const alarms = [...(warning === undefined ? [] : [warning]), ...this.#damage.alarms]
    return alarms.length === 0 ? { ok: true } : { ok: true, alarms }
  }

  create(request: NewRun): Promise<CreateResult> {
    const { run, idempotency } = request
    const inTurn = (): Promise<CreateResult> => this.#turns.do(run.id, () => this.#create(request))
    return idempotency === undefined ? inTurn() : this.#turns.do(keyOf(run.owner, idempotency.key), inTurn)
  }

  async #create(request: NewRun): Promise<CreateResult> {
    this.#assertHealthy()
    const { run, idempotency } = request
    const creating = idempotency && this.#creating(run.owner, idempotency.key)
    const found = creating ?? (await this.#newcomer(run, idempotency?.key))
    if (found !== undefined) {
      const kind = found.fingerprint === idempotency!.fingerprint ? 'existing' : 'key_conflict'
      return { kind, stored: await found.stored() }
    }
    this.#assertHealthy()
    const busy = request.rejectIfBusy ? this.#active.head(run.lane) : undefined
    if (busy !== undefined) return { kind: 'busy', stored: busy.view() ?? busy.snapshot() }
    this.#assertKeepsUp()
    const head: StoredRun = { run, first: 0, next: 1, epoch: 0 }
    const active = ActiveRun.created(++this.#highestNumber, head, request.record, idempotency)
    this.#active.add(active)
    if (request.claim !== undefined && this.#active.isHead(active))
      active.claim(request.claim.owner, this.#options.clock.now() + request.claim.ttlMs)
    const stored = active.snapshot()
    await this.#claimed(active)
    if (stored.lease === undefined && this.#active.isHead(active))
      this.#hints.give({ run: request.run.id, next: 1, claimable: true })
    return { kind: 'created', stored }
  }

  async get(id: string): Promise<StoredRun | undefined> {
    this.#assertReadable()
    const active = this.#active.get(id)
    return active === undefined ? this.#noticed(await this.#ask('run', id))?.stored : active.view()
  }

  async findByKey(owner: string, key: string): Promise<{ stored: StoredRun; fingerprint: string } | undefined> {
    const known = this.#creating(owner, key) ?? this.#keyed(await this.#ask('runByKey', owner, key))
    return known && { stored: await known.stored(), fingerprint: known.fingerprint }
  }

  async list(query: RunQuery): Promise<RunPage> {
    const found = await this.#ask('runs', { ...query, limit: query.limit + 1 })
    for (const run of found.runs) this.#noticed(run)
    const runs = found.runs.slice(0, query.limit).map(({ stored }) => this.#latest(stored))
    return {
      runs,
      ...(found.runs.length > query.limit && { cursor: cursorOf(runs.at(-1)!.run) }),
      ...(found.unreadable > 0 && { unreadable: found.unreadable }),
    }
  }

  remove(id: string): Promise<boolean> {
    return this.#turns.do(id, () => this.#remove(id))
  }

  async #remove(id: string): Promise<boolean> {
    this.#assertHealthy()
    // Readable until the removal is durable; held in memory so that nothing more of it is written.
    const active = await this.#loaded(id)
    const stored = active?.view()
    if (active === undefined || stored === undefined) return false
    if (!isFinished(stored.run.status) && stored.damage === undefined)
      throw new HoldfastError('conflict', `run ${id} is ${stored.run.status}; stop it first`)
    await this.#commits.remove(active)
    this.#active.delete(active)
    if (stored.damage !== undefined) this.#damage.removed(id)
    return true
  }

  writer(
    id: string,
    claim: { readonly epoch: number; readonly next: number },
    onRefused?: (cause: unknown) => void,
  ): LogWriter {
    const active = this.#active.get(id)
    active?.onFailed(onRefused)
    return new SqliteWriter(this.#commits, active, id, claim, (changed) => this.#active.changed(changed))
  }

  async read(id: string, after: number, bytesMax: number): Promise<Slice | undefined> {
    this.#assertReadable()
    const active = this.#active.get(id)
    const stored = active?.view()
    if (active !== undefined && stored === undefined) throw noRun(id)
    const known = active && headOf({ number: active.number, stored: stored! })
    if (known !== undefined) assertPageIn(id, known, after)
    if (after + 1 === known?.next) return undefined
    const tail = active?.tail
    if (tail === undefined || tail.isEmpty || after + 1 < tail.first) return this.#page({ id, after, bytesMax, known })
    return pageOf(known!, sliceWithin(sliceBefore(tail.after(after), known!.next), bytesMax))
  }

  /** Reads from the file. */
  async #page(request: PageRequest): Promise<Slice | undefined> {
    const { id, after } = request
    const { head, slice, found } = await this.#ask('page', request)
    if (head === undefined) throw noRun(id)
    if (head.isNewlyLost) this.#quarantine({ number: head.number, id, damage: head.damage! })
    assertPageIn(id, head, after)
    if (found === undefined) return slice && pageOf(head, slice)
    const { damage, isLasting } = found
    if (isLasting) this.#quarantine({ number: head.number, id, damage })
    else this.#setApart({ number: head.number, id, damage })
    throw damageError(id, damage)
  }

  trim(id: string, before: number): Promise<void> {
    return this.#turns.do(id, () => this.#trim(id, before))
  }

  async #trim(id: string, before: number): Promise<void> {
    this.#assertHealthy()
    const active = await this.#loaded(id)
    if (active === undefined || active.isRemoved || active.damage !== undefined) return
    const first = Math.min(before, active.next - 1)
    if (first <= active.first) return
    active.trim(first)
    await this.#commits.changed(active)
    if (active.finished) this.#forget(active)
  }

  size(): Promise<number> {
    return this.#ask('size')
  }

  async claim(id: string, owner: string, ttlMs: number, options: ClaimOptions = {}): Promise<StoredRun | undefined> {
    this.#assertHealthy()
    const active = this.#active.get(id)
    const now = this.#options.clock.now()
    if (active === undefined || !this.#active.isClaimable(active, now, options)) return undefined
    active.claim(owner, now + ttlMs)
    const stored = active.snapshot()
    await this.#claimed(active)
    return stored
  }

  renew(owner: string, ttlMs: number, components?: readonly string[]): Promise<readonly HeldRun[]> {
    const until = this.#options.clock.now() + ttlMs
    this.#served.note(owner, until, components)
    const renewed: HeldRun[] = []
    for (const active of this.#active.all()) {
      if (active.lease?.owner !== owner) continue
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
    const first = this.#active.claimable(limit, this.#options.clock.now(), query)
    return Promise.resolve(first.map(({ run }) => run.id))
  }

  unserved(): Promise<readonly string[]> {
    const now = this.#options.clock.now()
    return Promise.resolve(this.#served.without(this.#active.waiting(), ({ run }) => run.component, now))
  }

  queued(owner?: string): Promise<number> {
    return Promise.resolve(this.#active.queued(owner))
  }

  async requestStop(id: string, stop: StopRequest): Promise<StoredRun | undefined> {
    this.#assertHealthy()
    const active = this.#active.get(id)
    if (active === undefined) return this.get(id)
    if (active.damage !== undefined) return active.view()
    if (active.finished) return active.pending > 0 ? active.wait().then(() => active.view()) : active.view()
    if (active.stop === undefined) {
      active.requestStop(stop)
      this.#active.changed(active)
      await this.#commits.changed(active)
      this.#hints.give({ run: id, next: active.durable!.next, stop: true })
    } else if (active.durable?.stop === undefined) {
      await active.wait() // another caller requested it, and that is not durable yet
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
    this.#watch.stop()
    await this.#commits.close()
    await this.#reads.close()
    this.#options.lock.release()
  }

  /** Owners of leases in this process: there are no others. */
  #workers(): readonly string[] {
    const now = this.#options.clock.now()
    const held = [...this.#active.all()].filter((active) => active.isHeld(now))
    return [...new Set(held.map((active) => active.lease!.owner))]
  }

  async #kept(limit: number, after: Position | undefined): Promise<readonly TransferredRun[]> {
    const found = await this.#ask('runsFollowing', limit, after)
    return found.map(({ stored, idempotency }) => ({
      stored: this.#latest(stored),
      ...(idempotency !== undefined && { idempotency }),
    }))
  }

  async #admit({ stored, idempotency }: TransferredRun, record: string): Promise<void> {
    this.#assertHealthy()
    const { run, first, epoch, stop } = stored
    const creating = idempotency && this.#creating(run.owner, idempotency.key)
    if ((creating ?? (await this.#newcomer(run, idempotency?.key))) !== undefined)
      throw new HoldfastError('conflict', `run ${run.id}: its idempotency key is in use`)
    this.#assertHealthy()
    const head: StoredRun = { run, first, next: first + 1, epoch, ...(stop !== undefined && { stop }) }
    const active = ActiveRun.imported(++this.#highestNumber, head, record, idempotency)
    this.#active.add(active)
    await this.#commits.changed(active)
  }

  /** The run with the idempotency key of a new run. Throws if the new run's id is in use. */
  async #newcomer({ id, owner }: Run, key: string | undefined): Promise<KeyedRun | undefined> {
    const { isTaken, known } = await this.#ask('newcomer', id, owner, key)
    if (isTaken || (known === undefined && this.#active.get(id) !== undefined))
      throw new HoldfastError('conflict', `run ${id} exists`)
    return this.#keyed(known)
  }

  /** Records of a run, or its row, became durable. */
  #announce(active: ActiveRun, slice: Slice | undefined): void {
    const { run, next } = active.durable!
    this.#hints.give({ run: run.id, next, ...(slice !== undefined && { slice }) })
    if (isFinished(run.status)) this.#hintHeir(run.lane)
  }

  #hintHeir(lane: string | undefined): void {
    const heir = this.#active.head(lane)
    if (heir !== undefined) this.#hints.give({ run: heir.run.id, next: heir.durable?.next ?? 0, claimable: true })
  }

  /** Drops a finished run whose records are all in segments: it is read from the file. */
  #forget(active: ActiveRun): void {
    if (active.finished && active.tail.isEmpty && active.pending === 0) this.#active.delete(active)
  }

  /** Loads a run into memory to change it, under its mutex. */
  async #loaded(id: string): Promise<ActiveRun | undefined> {
    const known = this.#active.get(id)
    if (known !== undefined) return known
    const found = await this.#ask('run', id)
    this.#assertHealthy()
    if (found === undefined) return undefined
    const active = ActiveRun.loaded(found.number, found.stored, found.idempotency)
    this.#active.hold(active)
    return active
  }

  /** Quarantines a run that was found damaged: no reads or claims from now on, and the file records it. */
  #quarantine(found: QuarantinedRun): void {
    this.#setApart(found)
    if (this.#failure === undefined) void this.#commits.quarantine(found).catch(() => {}) // it will be detected again
  }

  #setApart({ id, damage }: QuarantinedRun): void {
    this.#damage.found(id, damage)
    const active = this.#active.get(id)
    if (active === undefined) return
    active.setApart(damage)
    this.#active.setApart(active)
    this.#hintHeir(active.run.lane)
  }

  /** The in-memory state of a run that was read from the file, if there is one. */
  #latest(stored: StoredRun): StoredRun {
    return this.#active.get(stored.run.id)?.view() ?? stored
  }

  /** One of the runs whose creation is not durable yet. */
  #creating(owner: string, key: string): KeyedRun | undefined {
    for (const active of this.#commits.creating()) {
      if (active.run.owner !== owner || active.idempotency?.key !== key) continue
      return { fingerprint: active.idempotency.fingerprint, stored: () => active.wait().then(() => active.view()!) }
    }
    return undefined
  }

  #keyed(found: NumberedRun | undefined): KeyedRun | undefined {
    if (found === undefined) return undefined
    return { fingerprint: found.idempotency!.fingerprint, stored: () => Promise.resolve(this.#latest(found.stored)) }
  }

  /** Quarantines a run with a damaged row, once. */
  #noticed<Row extends NumberedRun | undefined>(found: Row): Row {
    if (found?.isLost && !found.isMarked && !this.#damage.has(found.stored.run.id))
      this.#quarantine({ number: found.number, id: found.stored.run.id, damage: found.stored.damage! })
    return found
  }

  /** Reads the file in the reading thread. */
  async #ask<Name extends keyof Readings>(
    name: Name,
    ...args: Parameters<Readings[Name]>
  ): Promise<ReturnType<Readings[Name]>> {
    this.#assertReadable()
    const result = await this.#reads.ask(name, ...args)
    this.#assertReadable()
    return result
  }

  #assertReadable(): void {
    if (this.#closed) throw this.#unreadable('the store is closed')
    // The in-memory state is stale: another process continues these runs.
    if (this.#fenced) throw this.#unreadable(`the store is not read: ${this.#failure}`)
  }

  #unreadable(message: string): HoldfastError {
    return storeUnavailable(message, { retryAfterMs: this.#options.reopenMs })
  }

  #assertHealthy(): void {
    const reason = this.#closed ? 'it is closed' : (this.#failure ?? this.#watch.stall)
    if (reason !== undefined)
      throw storeUnavailable(`the store takes no writes: ${reason}`, {
        retryAfterMs: this.#options.reopenMs,
      })
  }

  /** Appends of running runs cannot be refused; new runs can. */
  #assertKeepsUp(): void {
    const bytes = this.#commits.backlogBytes
    if (bytes <= this.#options.backlogBytesMax) return
    throw storeUnavailable(`the store is behind: ${bytes} bytes of its log wait for compaction`, {
      retryAfterMs: BACKLOG_RETRY_MS,
    })
  }

  /** Resolves when a claim is durable. A caller that cannot wait does not execute the run: another may claim it. */
  async #claimed(active: ActiveRun): Promise<void> {
    try {
      await this.#commits.changed(active)
    } catch (cause) {
      active.release()
      const { id } = active.run
      const offer = (): void => this.#hints.give({ run: id, next: active.durable?.next ?? 0, claimable: true })
      active.wait({ patient: true }).then(offer, () => {})
      throw cause
    }
  }

  /** The disk does not respond. Commands are refused, running ones wait; everything continues when the disk does. */
  #stall(reason: string): void {
    const { lock, reopenMs, logger } = this.#options
    logger.error({ store: lock.path, reason }, 'the store is stalled')
    const cause = storeUnavailable(`the store takes no writes: ${reason}`, { retryAfterMs: reopenMs })
    for (const active of this.#active.all()) active.stall(cause)
    this.#commits.stall(cause)
  }

  /**
   * A commit failed. Accepted changes that are not durable are dropped: their callers get an error, and nobody has seen them.
   * The file is then reopened, as after a crash; until that succeeds the store is unhealthy. It stays so if another process
   * owns the file: reopening would take it from that process.
   */
  #fail({ message, fenced }: { readonly message: string; readonly fenced: boolean }): void {
    if (fenced) this.#fenced = true
    if (this.#failure === undefined || fenced) {
      this.#failure = message
      this.#watch.stop()
      this.#options.logger.error({ store: this.#options.lock.path, reason: message }, 'the store takes no writes')
      const cause = storeUnavailable(`the store takes no writes: ${message}`, {
        retryAfterMs: this.#options.reopenMs,
      })
      for (const active of this.#active.all()) active.fail(cause)
      for (const active of this.#active.all()) if (active.durable === undefined) this.#active.delete(active)
    }
    if (!this.#closed && !this.#fenced)
      this.#reopenTimer = setTimeout(() => void this.#reopen(), this.#options.reopenMs)
  }

  async #openingOf(thread: CommittingThread): Promise<Opening> {
    try {
      return await this.#reads.ask('opening')
    } catch (cause) {
      await thread.close()
      throw cause
    }
  }

  async #reopen(): Promise<void> {
    try {
      await this.#commits.abandon()
      const options = { ...this.#options.threadOptions, reopen: this.#identity }
      const thread = await CommittingThread.open(options, (message) => (this.#failure = message))
      this.#open(thread, await this.#openingOf(thread))
    } catch (cause) {
      return this.#fail({ message: detailOf(cause), fenced: cause instanceof FencedError })
    }
    this.#failure = undefined
    this.#options.logger.info({ store: this.#options.lock.path }, 'the store takes writes again')
    for (const { run, durable } of this.#active.all())
      this.#hints.give({ run: run.id, next: durable!.next, claimable: true })
  }
}

/** Read here, because nothing can be asked of the store before, and much of it stays in this thread. */
function openingOf(path: string): Opening {
  const reader = new Reader(path)
  try {
    return reader.opening()
  } finally {
    reader.close()
  }
}

function keyOf(owner: string, key: string): string {
  return JSON.stringify([owner, key])
}

function noRun(id: string): HoldfastError {
  return new HoldfastError('not_found', `no run ${id}`)
}

function assertPageIn(id: string, { first, next, damage }: LogHead, after: number): void {
  if (damage !== undefined) throw damageError(id, damage)
  assertReadable({ run: { id }, first, next }, after)
}

function pageOf({ isFinished: ended, next }: LogHead, slice: Slice): Slice {
  return { ...slice, closed: ended && lastOf(slice) === next - 1 }
}
