/**
 * The store seam: the log, the index of runs, leases, hints and documents. Everything that must survive is behind it.
 *
 * A store is correct when it passes `storeConformance` of holdfast/testing; stores/memory.ts is the readable one.
 * It knows nothing of event types: records are opaque text, and what changes a run comes with the append as a new `Run`.
 */
import type { Documents } from '../model/document.ts'
import type { StoreTransfer } from './store-transfer.ts'
import type { Slice } from '../model/record.ts'
import type { Run, RunStatus } from '../model/run.ts'
import type { StoredUsage } from '../model/storage-usage.ts'

/** A run as the store keeps it: the fold, and what only the store decides. */
export interface StoredRun {
  readonly run: Run
  /** Index of the earliest record that is still kept. */
  readonly first: number
  /** Index that the next record will get; so also the number of records ever written. */
  readonly next: number
  /** Raised by every claim (LOG-4). 0 before the first. */
  readonly epoch: number
  /** The worker that executes the run, and when its lease expires unless renewed. */
  readonly lease?: Lease
  /** A stop that was asked for and may not have been carried out yet (RUN-2). */
  readonly stop?: StopRequest
  /** What of its log is lost (STO-1). Such a run is quarantined: it is listed, not read, not claimed, and can be removed. */
  readonly damage?: LogDamage
}

/** Events that the store had and cannot give back. */
export interface LogDamage {
  readonly first: number
  readonly last: number
  readonly reason: string
}

export interface Lease {
  readonly owner: string
  /** Milliseconds since 1970, by the store's clock. */
  readonly until: number
}

/** A run that an owner holds, as a renewal found it. */
export interface HeldRun {
  readonly id: string
  /** Of the claim that was renewed: an answer may be older than the owner's next claim of the same run. */
  readonly epoch: number
  /** Records that the log has: fewer than were durable before, after a failover to a replica that was behind. */
  readonly next: number
  readonly stop?: StopRequest
}

export interface StopRequest {
  readonly at: string
  readonly reason?: string
  readonly by?: string
}

export interface NewRun {
  readonly run: Run
  /** Record 0 of the log, `run.created`. Written in the same step as the run: there is no run without a log. */
  readonly record: string
  /** Looked at before the lane: a start that is retried must not be refused because of itself. Same key and fingerprint: the same run. Same key, other fingerprint: refused (RUN-4). Keys belong to an owner. */
  readonly idempotency?: { readonly key: string; readonly fingerprint: string }
  /** Refuse when the lane has an unfinished run. */
  readonly rejectIfBusy?: boolean
  /** Claim it in the same step, if its lane is free. */
  readonly claim?: { readonly owner: string; readonly ttlMs: number }
}

export type CreateResult =
  | { readonly kind: 'created'; readonly stored: StoredRun }
  /** The key was known with the same fingerprint. */
  | { readonly kind: 'existing'; readonly stored: StoredRun }
  | { readonly kind: 'key_conflict'; readonly stored: StoredRun }
  | { readonly kind: 'busy'; readonly stored: StoredRun }

/**
 * Appends under one claim. Whatever does not fit (epoch, index, closed log) is refused, all of it. The epoch decides and not the
 * lease: the last one to claim may append, also after its lease has ended.
 */
export interface LogWriter {
  /** Index of the next record. */
  readonly next: number
  /** Records and characters appended that are not durable yet. */
  readonly pending: number
  readonly pendingChars: number
  /**
   * Adds one record at `next`; `change` is the run after it, where it changes. A run with a terminal status closes the log.
   * Throws `fenced` or `closed` when the refusal is known at once; else `flush` reports it.
   */
  append(record: string, change?: Run): void
  /** Resolves when all appended so far is durable, and rejects when any of it was refused or could not be written. */
  flush(): Promise<void>
}

export interface RunQuery {
  readonly owner?: string
  readonly component?: string
  readonly session?: string
  readonly status?: readonly RunStatus[]
  /** Of the component, as the run says it. */
  readonly version?: string
  /** Only runs created before this one, in listing order; the `cursor` of the page before. */
  readonly after?: string
  readonly limit: number
}

/** Newest first, by creation time and then id; a run never moves between pages. */
export interface RunPage {
  readonly runs: readonly StoredRun[]
  /** Give as `after` for the next page; absent on the last. */
  readonly cursor?: string
  /** Runs that belong on the page and cannot be read now. */
  readonly unreadable?: number
}

/** Something happened to a run. May be lost, doubled or late; the log is the truth. */
export interface Hint {
  readonly run: string
  /** Records known durable. */
  readonly next: number
  /** The records that just became durable, where the store has them at hand. */
  readonly slice?: Slice
  /** A stop was asked for. */
  readonly stop?: boolean
  /** The run can be claimed: it was created or given back unclaimed, or its lane has become free. */
  readonly claimable?: boolean
}

export type HintListener = (hint: Hint) => void

export interface StoreCapabilities {
  /** Survives the process. */
  readonly durable: boolean
  /** Several processes may use it at once. */
  readonly shared: boolean
}

export type StoreHealth = ({ readonly ok: true } | { readonly ok: false; readonly reason: string }) & {
  /** What an operator should look at although the store works, such as runs that are damaged. Anybody may read it: no ids. */
  readonly alarms?: readonly string[]
}

export interface Store {
  readonly name: string
  readonly capabilities: StoreCapabilities
  health(): StoreHealth

  // Runs
  /**
   * A run that is created touches the document of its session in the same step: it is inserted where there is none
   * (`sessionDocument`), else `updatedAt` moves up to the run's creation and the rest stays, the version included.
   */
  create(run: NewRun): Promise<CreateResult>
  get(id: string): Promise<StoredRun | undefined>
  /** The run that an owner's idempotency key stands for. */
  findByKey(
    owner: string,
    key: string,
  ): Promise<{ readonly stored: StoredRun; readonly fingerprint: string } | undefined>
  list(query: RunQuery): Promise<RunPage>
  /** Removes a finished or damaged run with its log, not its session; false when there is none. Refuses an unfinished one with `conflict`. */
  remove(id: string): Promise<boolean>

  // Log
  /**
   * A writer for a claim, starting at the index that the claim gave. `onRefused` is called once, as soon as it is known that
   * something appended was refused or could not be written, whether or not anybody waits for it.
   */
  writer(
    id: string,
    claim: { readonly epoch: number; readonly next: number },
    onRefused?: (cause: unknown) => void,
  ): LogWriter
  /**
   * Records after an index (-1: from the start), up to `bytesMax` or one record more; undefined when there is none.
   * Throws `cursor_expired` when the record that follows was trimmed, `cursor_invalid` beyond the end, `not_found`, and
   * `log_damaged` when what it has is not what was written.
   */
  read(id: string, after: number, bytesMax: number): Promise<Slice | undefined>
  /** Forgets the records before an index. The last record of a run is always kept. */
  trim(id: string, before: number): Promise<void>
  /** Bytes that the records of all runs take, about. */
  size(): Promise<number>

  // Leases
  /** Takes a run that nobody holds: raises the epoch. One that is to be stopped can be taken whatever its state. Undefined when it is held, paused, finished or waits for its lane. */
  claim(id: string, owner: string, ttlMs: number, options?: ClaimOptions): Promise<StoredRun | undefined>
  /**
   * Extends every claim of an owner, also an expired one that nobody took; the runs that are still its own. Must not wait
   * behind other calls: leases expire when it is late. `components` is what the owner serves, for as long as its leases last;
   * one that does not say is taken to serve all.
   */
  renew(owner: string, ttlMs: number, components?: readonly string[]): Promise<readonly HeldRun[]>
  /** Gives a claim back; nothing happens when it is no longer held with this epoch. */
  release(id: string, epoch: number): Promise<void>
  /**
   * Runs that `claim` would give, in the order in which they should be taken; what the query excludes does not count toward the limit. First those that have begun (running or paused: their worker died or gave them back, or
   * their question is overdue), oldest first. Then those that are queued, so that an owner with many does not keep others
   * from their turn: by how many runs of the same owner have the status `running`, plus the run's position (0, 1, 2 …, oldest
   * first) among the queued ones of that owner that are asked for and would be given; of equals first that of the owner to
   * whom a run was given longest ago, as far as the store remembers, and then the oldest. Oldest is the first that was
   * created. Called for every slot that becomes free: it must not look at all that an owner has queued.
   */
  claimable(limit: number, query?: ClaimableQuery): Promise<readonly string[]>
  /** Components of runs that need a worker, now or later, and that no owner whose leases last has said it serves. */
  unserved(): Promise<readonly string[]>
  /** How many runs have the status `queued`: of everybody, or of one owner. */
  queued(owner?: string): Promise<number>

  // Commands and hints
  /** Notes a stop, once; the first one stays. A finished run is returned as it is. */
  requestStop(id: string, stop: StopRequest): Promise<StoredRun | undefined>
  /** Hints of one run, or of all with `*`. */
  watch(id: string, listener: HintListener): () => void

  readonly documents: Documents
  readonly transfer: StoreTransfer
  /** What each owner has stored. */
  readonly usage: StoredUsage

  close(): Promise<void>
}

export interface ClaimableQuery {
  /** Only runs of these components, and those that are to be stopped: any worker can do that. */
  readonly components?: readonly string[]
  /** As in `ClaimOptions`. */
  readonly takeover?: boolean
}

export interface ClaimOptions {
  /** Also take a paused run: to continue it, or to end it. Without this it can be taken only from its `wakeAt` on. */
  readonly paused?: boolean
  /** Also take a run that waits for its lane: to end it. */
  readonly outOfOrder?: boolean
  /** False: leave a run to the owner of its lease though that has expired, unless it is to be stopped. Default: true. */
  readonly takeover?: boolean
}
