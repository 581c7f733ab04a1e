/**
 * The embedded store: one SQLite file, one process. Commands are decided in memory, made durable by group commit in the
 * committing thread, and only then seen by anyone.
 */
import type { Clock } from '../../core/clock.ts'
import { assertReadable } from '../../core/cursor.ts'
import { HoldfastError, detailOf, storeUnavailable } from '../../core/errors.ts'
import { Hints } from '../../core/hints.ts'
import type { Logger } from '../../core/logger.ts'
import type { KeptRun, Moving } from '../../core/moving.ts'
import { cursorOf, type Position } from '../../core/page.ts'
import { lastOf, type Slice, sliceBefore, sliceWithin } from '../../core/record.ts'
import { isFinished } from '../../core/run.ts'
import type {
  ClaimableQuery,
  ClaimOptions,
  Created,
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
} from '../../core/store.ts'
import type { StoredUsage } from '../../core/usage.ts'
import { joinAfter } from '../shared/join-slices.ts'
import { ServedComponents } from '../shared/served-components.ts'
import { ActiveRun } from './active-run.ts'
import { type DocumentAccess, SqliteDocuments } from './documents.ts'
import { CommittingThread } from './committing-thread.ts'
import type { FileIdentity } from './file-identity.ts'
import { GroupCommit } from './group-commit.ts'
import { FencedError } from './instance.ts'
import type { FileLock } from './lock.ts'
import type { Quarantined, ThreadOptions } from './messages.ts'
import { SqliteMoving } from './moving.ts'
import { PinnedJournal } from './pinned-journal.ts'
import { DamageRegister } from './damage-register.ts'
import { damageError } from './quarantine.ts'
import { damageIn, Reader } from './reader.ts'
import type { NumberedRun } from './run-rows.ts'
import { isCorrupt } from './sqlite-errors.ts'
import { RunIndex } from './run-index.ts'
import { ThreadWatch } from './thread-watch.ts'
import { SqliteWriter } from './writer.ts'

export interface SqliteStoreOptions {
  /** On the file; the store lets it go when it closes. */
  readonly lock: FileLock
  /** The first of the threads that commit to it. */
  readonly thread: Promise<CommittingThread>
  readonly clock: Clock
  /** Wait between attempts to open the file again after it failed. */
  readonly reopenMs: number
  /** Bytes of the log that may wait for compaction, in memory, before starts are refused. */
  readonly backlogBytesMax: number
  /** Wait between looks at whether the file is still in its place. */
  readonly watchMs: number
  /** For the threads after the first. */
  readonly threadOptions: Omit<ThreadOptions, 'reopen'>
  readonly logger: Logger
  /** Told which run is quarantined, and why. */
  readonly onDamage: (what: string) => void
}

const BACKLOG_RETRY_MS = 1000

interface Found {
  readonly number: number
  readonly stored: StoredRun
}

/** Nothing was read or changed: the disk has been at work on one write for too long. */
class SlowDisk extends Error {}

export class SqliteStore implements Store {
  readonly name = 'sqlite'
  readonly capabilities: StoreCapabilities = { durable: true, shared: false }
  readonly documents: SqliteDocuments
  readonly moving: Moving
  readonly usage: StoredUsage = {
    of: (owner) => this.#reading(() => this.#file.usage.of(owner)),
    total: () => this.#reading(() => this.#file.usage.total()),
    largest: (limit) => this.#reading(() => this.#file.usage.largest(limit)),
    finishedRuns: (owner, limit, after) =>
      this.#reading(() =>
        this.#file.runs.finished(owner, limit, after).map(({ stored, bytes }) => ({
          stored: this.#active.get(stored.run.id)?.view() ?? stored,
          bytes,
        })),
      ),
  }
  readonly #options: SqliteStoreOptions
  readonly #hints = new Hints()
  readonly #active = new RunIndex()
  readonly #served = new ServedComponents()
  readonly #pinned: PinnedJournal
  #reader!: Reader
  #commits!: GroupCommit
  #watch!: ThreadWatch
  #identity!: FileIdentity
  #highestNumber = 0
  readonly #damage: DamageRegister
  #failure: string | undefined
  /** The file belongs to another process by now, for good. */
  #fenced = false
  #reopenTimer: NodeJS.Timeout | undefined
  #closed = false

  private constructor(options: SqliteStoreOptions) {
    this.#options = options
    this.#pinned = new PinnedJournal(options.lock.path, options.logger)
    this.#damage = new DamageRegister(options.onDamage)
    const documents: DocumentAccess = {
      read: (read) => this.#reading(() => read(this.#file.documents)),
      write: async (command) => {
        this.#assertHealthy()
        return this.#commits.document(command)
      },
    }
    this.documents = new SqliteDocuments(documents, options.clock)
    this.moving = new SqliteMoving({
      workers: () => this.#workers(),
      runs: (limit, after) => this.#kept(limit, after),
      admit: (kept, record) => this.#patiently(() => this.#admit(kept, record)),
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
      quarantined: (found) => this.#setApart(found),
      failed: ({ message, because }) => this.#fail({ message, fenced: because === 'fenced' }),
    })
    this.#reader = new Reader(this.#options.lock.path)
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
    this.#highestNumber = this.#reader.highestNumber()
    this.#active.clear()
    this.#damage.opened(this.#reader.damagedRuns(), thread.warnings, thread.lost)
    const { runs, unreadable } = this.#reader.runs.unfinished()
    this.#damage.unreadable(unreadable)
    for (const { number, stored, idempotency } of runs) {
      // No lease: the lock says that whoever held one is dead.
      const active = new ActiveRun(number, stored, idempotency)
      active.durable = active.snapshot()
      if (stored.damage === undefined) {
        this.#active.add(active)
        continue
      }
      this.#active.hold(active)
      this.#quarantine({ number, id: stored.run.id, damage: stored.damage })
    }
  }

  health(): StoreHealth {
    const reason = this.#failure ?? this.#watch.stall
    if (reason !== undefined) return { ok: false, reason }
    const { warning } = this.#pinned
    const alarms = [...(warning === undefined ? [] : [warning]), ...this.#damage.alarms]
    return alarms.length === 0 ? { ok: true } : { ok: true, alarms }
  }

  create(request: NewRun): Promise<Created> {
    return this.#patiently(() => this.#create(request))
  }

  async #create(request: NewRun): Promise<Created> {
    this.#assertHealthy()
    const known = request.idempotency && this.#byKey(request.run.owner, request.idempotency.key)
    if (known !== undefined) {
      const kind = known.fingerprint === request.idempotency!.fingerprint ? 'existing' : 'key_conflict'
      return { kind, stored: await known.stored() }
    }
    const busy = request.rejectIfBusy ? this.#active.head(request.run.lane) : undefined
    if (busy !== undefined) return { kind: 'busy', stored: busy.view() ?? busy.snapshot() }
    this.#assertKeepsUp()
    this.#assertNew(request.run.id)
    const active = new ActiveRun(
      ++this.#highestNumber,
      { run: request.run, first: 0, next: 1, epoch: 0 },
      request.idempotency,
    )
    active.text = request.record
    active.textCount = 1
    active.isNew = true
    this.#active.add(active)
    if (request.claim !== undefined && this.#active.isHead(active)) {
      active.epoch = 1
      active.lease = { owner: request.claim.owner, until: this.#options.clock.now() + request.claim.ttlMs }
    }
    const stored = active.snapshot()
    await this.#claimed(active)
    if (stored.lease === undefined && this.#active.isHead(active))
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
      const found = this.#file.runs.list({ ...query, limit: query.limit + 1 })
      for (const run of found.runs) this.#noticed(run)
      const runs = found.runs
        .slice(0, query.limit)
        .map(({ stored }) => this.#active.get(stored.run.id)?.view() ?? stored)
      return {
        runs,
        ...(found.runs.length > query.limit && { cursor: cursorOf(runs.at(-1)!.run) }),
        ...(found.unreadable > 0 && { unreadable: found.unreadable }),
      }
    })
  }

  remove(id: string): Promise<boolean> {
    return this.#patiently(() => this.#remove(id))
  }

  async #remove(id: string): Promise<boolean> {
    this.#assertHealthy()
    const found = this.#durable(id)
    if (found === undefined) return false
    if (!isFinished(found.stored.run.status) && found.stored.damage === undefined)
      throw new HoldfastError('conflict', `run ${id} is ${found.stored.run.status}; stop it first`)
    // It can be read until the removal is durable, and is kept here so that nothing more is written of it.
    const active = this.#active.get(id) ?? this.#load(id)
    if (active === undefined) return false
    await this.#commits.remove(active)
    this.#active.delete(active)
    if (found.stored.damage !== undefined) this.#damage.removed(id)
    return true
  }

  writer(
    id: string,
    claim: { readonly epoch: number; readonly next: number },
    onRefused?: (cause: unknown) => void,
  ): LogWriter {
    const active = this.#active.get(id)
    if (active !== undefined) active.onFailed = onRefused
    return new SqliteWriter(this.#commits, active, id, claim, (changed) => this.#active.changed(changed))
  }

  read(id: string, after: number, bytesMax: number): Promise<Slice | undefined> {
    return this.#reading(() => {
      const found = this.#durable(id)
      if (found === undefined) throw new HoldfastError('not_found', `no run ${id}`)
      const { next, run, damage } = found.stored
      if (damage !== undefined) throw damageError(id, damage)
      assertReadable(found.stored, after)
      if (after === next - 1) return undefined
      const tail = this.#active.get(id)?.tail
      const from =
        tail !== undefined && !tail.isEmpty && after + 1 >= tail.first
          ? [tail.after(after)]
          : this.#segments(found, after + 1, bytesMax)
      // A commit may be in the file before this thread has heard of it; what it holds is not announced yet.
      const slice = sliceWithin(sliceBefore(joinAfter(from, after, bytesMax), next), bytesMax)
      return { ...slice, closed: isFinished(run.status) && lastOf(slice) === next - 1 }
    })
  }

  trim(id: string, before: number): Promise<void> {
    return this.#patiently(() => this.#trim(id, before))
  }

  async #trim(id: string, before: number): Promise<void> {
    this.#assertHealthy()
    const active = this.#active.get(id) ?? this.#load(id)
    if (active === undefined || active.removed || active.damage !== undefined) return
    const first = Math.min(before, active.next - 1)
    if (first <= active.first) return
    active.first = first
    await this.#commits.trim(active)
    if (active.finished) this.#forget(active)
  }

  size(): Promise<number> {
    return this.#reading(() => this.#file.size())
  }

  async claim(id: string, owner: string, ttlMs: number, options: ClaimOptions = {}): Promise<StoredRun | undefined> {
    this.#assertHealthy()
    const active = this.#active.get(id)
    const now = this.#options.clock.now()
    if (active === undefined || !this.#active.isClaimable(active, now, options)) return undefined
    active.epoch++
    active.lease = { owner, until: now + ttlMs }
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
      active.lease = { owner, until }
      const { next = 0, stop } = active.durable ?? {}
      renewed.push({ id: active.run.id, epoch: active.epoch, next, ...(stop && { stop }) })
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
      active.stop = stop
      this.#active.changed(active)
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
    this.#watch.stop()
    await this.#commits.close()
    this.#reader.close()
    this.#options.lock.release()
  }

  /** Runs that this process holds: nobody else can be at work. */
  #workers(): readonly string[] {
    const now = this.#options.clock.now()
    const held = [...this.#active.all()].filter((active) => active.isHeld(now))
    return [...new Set(held.map((active) => active.lease!.owner))]
  }

  #kept(limit: number, after: Position | undefined): Promise<readonly KeptRun[]> {
    return this.#reading(() =>
      this.#file.runs.following(limit, after).map(({ stored, idempotency }) => ({
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
    this.#active.add(active)
    await this.#commits.changed(active)
  }

  #assertNew(id: string): void {
    if (this.#active.get(id) === undefined && this.#file.runs.byId(id) === undefined) return
    throw new HoldfastError('conflict', `run ${id} exists`)
  }

  /** Records of a run became durable, or its row did. */
  #announce(active: ActiveRun, slice: Slice | undefined): void {
    const { run, next } = active.durable!
    this.#hints.give({ run: run.id, next, ...(slice !== undefined && { slice }) })
    if (isFinished(run.status)) this.#hintHeir(run.lane)
  }

  #hintHeir(lane: string | undefined): void {
    const heir = this.#active.head(lane)
    if (heir !== undefined) this.#hints.give({ run: heir.run.id, next: heir.durable?.next ?? 0, claimable: true })
  }

  /** A finished run whose records are all in segments is the file's business. */
  #forget(active: ActiveRun): void {
    if (active.finished && active.tail.isEmpty && active.pending === 0) this.#active.delete(active)
  }

  #load(id: string): ActiveRun | undefined {
    const found = this.#file.runs.byId(id)
    if (found === undefined) return undefined
    const active = new ActiveRun(found.number, found.stored, found.idempotency)
    active.durable = found.stored
    this.#active.hold(active)
    return active
  }

  /** Found here to be damaged: nobody reads or claims the run from now on, and the file remembers it. */
  #quarantine(found: Quarantined): void {
    this.#setApart(found)
    if (this.#failure === undefined) void this.#commits.quarantine(found).catch(() => {}) // it will be found again
  }

  #setApart({ id, damage }: Quarantined): void {
    this.#damage.found(id, damage)
    const active = this.#active.get(id)
    if (active === undefined) return
    active.damage ??= damage
    if (active.durable !== undefined) active.durable = { ...active.durable, damage }
    active.epoch++ // whoever drives it is fenced
    active.lease = undefined
    this.#active.setApart(active)
    this.#hintHeir(active.run.lane)
  }

  #durable(id: string): Found | undefined {
    const active = this.#active.get(id)
    if (active === undefined) return this.#noticed(this.#file.runs.byId(id))
    const stored = active.view()
    return stored && { number: active.number, stored }
  }

  #byKey(owner: string, key: string): { readonly fingerprint: string; stored(): Promise<StoredRun> } | undefined {
    for (const active of this.#commits.creating()) {
      if (active.run.owner !== owner || active.idempotency?.key !== key) continue
      return { fingerprint: active.idempotency.fingerprint, stored: () => active.wait().then(() => active.view()!) }
    }
    const found = this.#file.runs.byKey(owner, key)
    if (found === undefined) return undefined
    const stored = this.#active.get(found.stored.run.id)?.view() ?? found.stored
    return { fingerprint: found.idempotency!.fingerprint, stored: () => Promise.resolve(stored) }
  }

  /** Checked to be what was asked for: records of this run, from the one that is wanted on, without a hole (STO-2). */
  #segments({ number, stored: { run, next } }: Found, from: number, bytesMax: number): Slice[] {
    try {
      const segments = this.#file.segments(number, from, bytesMax)
      const damage = damageIn(segments, run.id, from)
      if (damage === undefined) return segments.map((segment) => ({ ...segment, closed: false }))
      this.#quarantine({ number, id: run.id, damage })
      throw damageError(run.id, damage)
    } catch (cause) {
      if (!isCorrupt(cause)) throw cause
      // Not for good: what is damaged may be an index, which can be made anew.
      const damage = { first: from, last: next - 1, reason: 'cannot be read: the database is damaged there' }
      this.#setApart({ number, id: run.id, damage })
      throw damageError(run.id, damage)
    }
  }

  /** The row of a run is damaged: it is quarantined, once. */
  #noticed<Run extends NumberedRun | undefined>(found: Run): Run {
    if (found?.isLost && !found.isMarked && !this.#damage.has(found.stored.run.id))
      this.#quarantine({ number: found.number, id: found.stored.run.id, damage: found.stored.damage! })
    return found
  }

  /**
   * Reads the file. Not while the disk stalls, or may be about to: a read that blocks would stop the event loop, and with it all
   * that is in memory.
   */
  get #file(): Reader {
    const { stall, isSlow } = this.#watch
    if (stall !== undefined) throw this.#unreadable(`the store cannot be read: ${stall}`)
    if (isSlow) throw new SlowDisk()
    return this.#reader
  }

  /** Does what may need the file; while the disk is slow it waits until a write is finished, or until it is known to stall. */
  async #patiently<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await work()
      } catch (cause) {
        if (!(cause instanceof SlowDisk)) throw cause
        await this.#watch.settled()
      }
    }
  }

  #unreadable(message: string, cause?: unknown): HoldfastError {
    return storeUnavailable(message, { cause, retryAfterMs: this.#options.reopenMs })
  }

  async #reading<Result>(read: () => Result): Promise<Result> {
    if (this.#closed) throw this.#unreadable('the store is closed')
    // What is kept in memory is no longer the latest: another process goes on with these runs.
    if (this.#fenced) throw this.#unreadable(`the store is not read: ${this.#failure}`)
    try {
      return await this.#patiently(read)
    } catch (cause) {
      if (cause instanceof HoldfastError) throw cause
      throw this.#unreadable(`the store cannot be read: ${String(cause)}`, cause)
    }
  }

  #assertHealthy(): void {
    const reason = this.#closed ? 'it is closed' : (this.#failure ?? this.#watch.stall)
    if (reason !== undefined)
      throw storeUnavailable(`the store takes no writes: ${reason}`, {
        retryAfterMs: this.#options.reopenMs,
      })
  }

  /** What runs write cannot be refused; that there are more of them can. */
  #assertKeepsUp(): void {
    const bytes = this.#commits.backlogBytes
    if (bytes <= this.#options.backlogBytesMax) return
    throw storeUnavailable(`the store is behind: ${bytes} bytes of its log wait for compaction`, {
      retryAfterMs: BACKLOG_RETRY_MS,
    })
  }

  /** Until a claim is durable. Whoever asked for one that cannot be waited for does not drive the run: another may. */
  async #claimed(active: ActiveRun): Promise<void> {
    try {
      await this.#commits.changed(active)
    } catch (cause) {
      active.lease = undefined
      const { id } = active.run
      const offer = (): void => this.#hints.give({ run: id, next: active.durable?.next ?? 0, claimable: true })
      active.wait({ patient: true }).then(offer, () => {})
      throw cause
    }
  }

  /** The disk finishes nothing. Commands are refused, running ones wait; all goes on by itself when the disk does. */
  #stall(reason: string): void {
    const { lock, reopenMs, logger } = this.#options
    logger.error({ store: lock.path, reason }, 'the store is stalled')
    const cause = storeUnavailable(`the store takes no writes: ${reason}`, { retryAfterMs: reopenMs })
    for (const active of this.#active.all()) active.stall(cause)
    this.#commits.stall(cause)
  }

  /**
   * A commit failed. What was accepted and is not durable is dropped: whoever waits for it is told, and nobody has seen it.
   * The file is then opened anew, as after a crash; until that works the store is unhealthy. It stays so when the file belongs
   * to another process: to open it again would take it from that one.
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

  async #reopen(): Promise<void> {
    const reader = this.#reader
    try {
      await this.#commits.abandon()
      const options = { ...this.#options.threadOptions, reopen: this.#identity }
      this.#open(await CommittingThread.open(options, (message) => (this.#failure = message)))
      reader.close()
    } catch (cause) {
      return this.#fail({ message: detailOf(cause), fenced: cause instanceof FencedError })
    }
    this.#failure = undefined
    this.#options.logger.info({ store: this.#options.lock.path }, 'the store takes writes again')
    for (const { run, durable } of this.#active.all())
      this.#hints.give({ run: run.id, next: durable!.next, claimable: true })
  }
}
