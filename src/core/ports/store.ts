/**
 * The store interface: logs, the index of runs, leases, hints and documents. Everything that must survive is behind it.
 *
 * A store is correct when it passes `storeConformance` of holdfast/testing/stores; stores/memory.ts is the simplest one.
 * It does not know event types: records are opaque text, and an append that changes the run carries the new `Run`.
 */
import type { Documents } from '../model/document.ts'
import type { StoreTransfer } from './store-transfer.ts'
import type { Slice } from '../model/slice.ts'
import type { Run, RunStatus } from '../model/run.ts'
import type { StoredUsage } from '../model/storage-usage.ts'

/** A stored run: the folded `Run`, and the state that the store maintains. */
export interface StoredRun {
  readonly run: Run
  /** Index of the earliest retained record. */
  readonly first: number
  /** Index of the next record, which is the number of records ever written. */
  readonly next: number
  /** Raised by every claim (LOG-4). 0 before the first. */
  readonly epoch: number
  /** The worker that executes the run, and when its lease expires unless renewed. */
  readonly lease?: Lease
  /** A requested stop that may not have been carried out yet (RUN-2). */
  readonly stop?: StopRequest
  /** Set if part of the log is lost (STO-1). Such a run is quarantined: listed and removable, but not read and not claimed. */
  readonly damage?: LogDamage
}

/** Events that the store lost. */
export interface LogDamage {
  readonly first: number
  readonly last: number
  readonly reason: string
}

/** A worker's time-limited right to execute a run. It does not decide who may append: the epoch does. */
export interface Lease {
  /** Name of the worker that holds it; not a principal. */
  readonly worker: string
  /** Milliseconds since 1970, by the store's clock. */
  readonly until: number
}

/** A run that a worker has leased, as reported by a renewal. */
export interface LeasedRun {
  readonly id: string
  /** Epoch of the renewed claim. The response may be older than the worker's next claim of the same run. */
  readonly epoch: number
  /** Number of records. Lower than the number that was durable after a failover to a replica that lagged behind. */
  readonly next: number
  readonly stop?: StopRequest
}

/** A stop that was requested, with its time, reason and author. */
export interface StopRequest {
  readonly at: string
  readonly reason?: string
  readonly by?: string
}

/** A run to create, with its first record. */
export interface NewRun {
  readonly run: Run
  /** Record 0 of the log, `run.created`. Written atomically with the run: there is no run without a log. */
  readonly record: string
  /**
   * Checked before the lane: a retried start must not be rejected because of itself. Same key and fingerprint: returns the existing
   * run. Same key, other fingerprint: a conflict (RUN-4). Keys belong to an owner.
   */
  readonly idempotency?: { readonly key: string; readonly fingerprint: string }
  /** Reject the run if its lane has an unfinished run. */
  readonly rejectIfBusy?: boolean
  /** Claim the run atomically, if its lane is free. */
  readonly claim?: { readonly worker: string; readonly ttlMs: number }
}

export type CreateResult =
  | { readonly kind: 'created'; readonly stored: StoredRun }
  /** The key exists with the same fingerprint. */
  | { readonly kind: 'existing'; readonly stored: StoredRun }
  | { readonly kind: 'key_conflict'; readonly stored: StoredRun }
  | { readonly kind: 'busy'; readonly stored: StoredRun }

/**
 * Appends under one lease. An append with a stale epoch, with a wrong index or to a closed log is refused as a whole. The epoch
 * decides, not the lease: the latest claimant may append even after its lease has expired.
 */
export interface LogWriter {
  /** Index of the next record. */
  readonly next: number
  /** Records and characters appended that are not durable yet. */
  readonly pending: number
  readonly pendingChars: number
  /**
   * Adds one record at `next`; `change` is the new run, if the record changes it. A terminal status closes the log.
   * Throws `fenced` or `closed` if the refusal is known immediately; otherwise `flush` reports it.
   */
  append(record: string, change?: Run): void
  /** Resolves when everything appended so far is durable, and rejects if any of it was refused or could not be written. */
  flush(): Promise<void>
}

/** Which runs to list. */
export interface RunQuery {
  readonly owner?: string
  readonly component?: string
  readonly session?: string
  readonly status?: readonly RunStatus[]
  /** Version of the component, as recorded in the run. */
  readonly version?: string
  /** Only runs after this one in listing order: the `cursor` of the previous page. */
  readonly after?: string
  readonly limit: number
}

/** Newest first, by creation time and then id; a run never moves between pages. */
export interface StoredRunPage {
  readonly runs: readonly StoredRun[]
  /** `after` of the next page; absent on the last. */
  readonly cursor?: string
  /** Number of runs on this page that cannot be read now. */
  readonly unreadable?: number
}

/** A wake-up: something happened to a run. Hints may be lost, duplicated or late; the log decides. */
export interface Hint {
  readonly run: string
  /** Number of durable records. */
  readonly next: number
  /** The records that just became durable, if the store has them in memory. */
  readonly slice?: Slice
  /** A stop was requested. */
  readonly stop?: boolean
  /** The run can be claimed: it was created unclaimed or released, or its lane has become free. */
  readonly claimable?: boolean
}

export type HintListener = (hint: Hint) => void

/** What a store guarantees. */
export interface StoreCapabilities {
  /** Survives the process. */
  readonly durable: boolean
  /** Several processes may use it concurrently. */
  readonly shared: boolean
}

export type StoreHealth = ({ readonly ok: true } | { readonly ok: false; readonly reason: string }) & {
  /** Problems for an operator although the store works, such as damaged runs. Public: contains no ids. */
  readonly alarms?: readonly string[]
}

/**
 * The storage interface: logs, runs, leases, hints and documents. Test an implementation with `storeConformance` of
 * `holdfast/testing/stores`.
 */
export interface Store {
  readonly name: string
  readonly capabilities: StoreCapabilities
  health(): StoreHealth

  // Runs
  /**
   * Creates a run. Atomically creates the document of its session (`sessionDocument`), or raises the document's `updatedAt` to the
   * run's creation time and leaves the rest, including its version, unchanged.
   */
  create(run: NewRun): Promise<CreateResult>
  get(id: string): Promise<StoredRun | undefined>
  /** Finds a run by its owner's idempotency key. */
  findByKey(
    owner: string,
    key: string,
  ): Promise<{ readonly stored: StoredRun; readonly fingerprint: string } | undefined>
  list(query: RunQuery): Promise<StoredRunPage>
  /**
   * Removes a finished or damaged run with its log, but not its session. Returns false if there is none. Throws `conflict` for an
   * unfinished run.
   */
  remove(id: string): Promise<boolean>

  // Log
  /**
   * A writer for a lease, starting at its index. `onRefused` is called once, as soon as an append is refused or cannot be written,
   * whether or not anybody awaits it.
   */
  writer(
    id: string,
    claim: { readonly epoch: number; readonly next: number },
    onRefused?: (cause: unknown) => void,
  ): LogWriter
  /**
   * Records after an index (-1: from the start), up to `maxBytes` or one record more; undefined if there is none.
   * Throws `cursor_expired` if the next record was trimmed, `cursor_invalid` beyond the end, `not_found`, and `log_damaged` if the
   * stored bytes are not what was written.
   */
  read(id: string, after: number, maxBytes: number): Promise<Slice | undefined>
  /** Removes the records before an index. The last record of a run is always kept. */
  trim(id: string, before: number): Promise<void>
  /** Approximate size of the records of all runs, in bytes. */
  size(): Promise<number>

  // Leases
  /**
   * Claims a run without a valid lease and raises its epoch. Undefined if the run is leased, paused or finished, or waits for its
   * lane. A run with a requested stop can be claimed in any unfinished state.
   */
  claim(id: string, worker: string, ttlMs: number, options?: ClaimOptions): Promise<StoredRun | undefined>
  /**
   * Extends all leases of a worker, including expired ones that no other worker claimed, and returns the runs it still holds. Must
   * not queue behind other calls: leases expire if it is late. `components`: announces what the worker serves, until its leases
   * expire. Default: all.
   */
  renew(worker: string, ttlMs: number, components?: readonly string[]): Promise<readonly LeasedRun[]>
  /** Releases a claim. No effect if the run no longer has this epoch. */
  release(id: string, epoch: number): Promise<void>
  /**
   * Runs that can be claimed, in the order in which they should be; runs that the query excludes do not count toward the limit.
   *
   * 1. Runs that have begun, oldest first: running or paused, whose worker died or released them, or whose question is overdue.
   * 2. Queued runs, round-robin between owners: by the number of the owner's runs with status `running`, plus the run's position (0, 1,
   *    2 …, oldest first) among the owner's queued runs that match the query and can be claimed. Ties go to the owner that was given a
   *    run longest ago, as far as the store remembers, then to the oldest run. Oldest means created first.
   *
   * Called for every slot that becomes free: it must not scan everything that an owner has queued.
   */
  claimable(limit: number, query?: ClaimableQuery): Promise<readonly string[]>
  /** Components that no worker with valid leases serves, of runs that need a worker now or at their deadline. */
  unserved(): Promise<readonly string[]>
  /** Number of queued runs, of all owners or of one. */
  queued(owner?: string): Promise<number>

  // Commands and hints
  /** Records a stop; the first one counts. A finished run is returned unchanged. */
  requestStop(id: string, stop: StopRequest): Promise<StoredRun | undefined>
  /** Subscribes to hints of one run, or of all with `*`. */
  watch(id: string, listener: HintListener): () => void

  readonly documents: Documents
  readonly transfer: StoreTransfer
  /** Storage usage per owner. */
  readonly usage: StoredUsage

  close(): Promise<void>
}

/** Which runs `claimable` lists. */
export interface ClaimableQuery {
  /** Only runs of these components, and runs with a requested stop, which any worker can carry out. */
  readonly components?: readonly string[]
  /** As in `ClaimOptions`. */
  readonly takeover?: boolean
}

/** Which runs `claim` may acquire. */
export interface ClaimOptions {
  /** Also claim a paused run, to resume or end it. Otherwise it can be claimed only after its `wakeAt`. Default: false. */
  readonly paused?: boolean
  /** Also claim a run that waits for its lane, to end it. Default: false. */
  readonly outOfOrder?: boolean
  /** Whether to take over runs whose lease has expired. Runs with a requested stop are always taken over. Default: true. */
  readonly takeover?: boolean
}
