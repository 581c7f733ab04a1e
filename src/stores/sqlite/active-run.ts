/** A run that the store holds in memory: unfinished, or with records that are not in a segment yet. */
import { isFinished, type Run } from '../../core/model/run.ts'
import type { Lease, LogDamage, StopRequest, StoredRun } from '../../core/ports/store.ts'
import type { RunRow } from './messages.ts'
import { Tail } from './tail.ts'

interface Waiter {
  readonly revision: number
  readonly resolve: () => void
  readonly reject: (cause: unknown) => void
  /** Waits however long the disk takes. */
  readonly patient: boolean
}

type Durable = Omit<StoredRun, 'next'> & { next: number }

export interface Idempotency {
  readonly key: string
  readonly fingerprint: string
}

/**
 * Two views of one run: the accepted state, which decides the next command, and the durable state, which is all that readers
 * see. They differ by what is on its way to disk.
 */
export class ActiveRun {
  readonly number: number
  readonly idempotency: Idempotency | undefined

  // Accepted.
  run: Run
  first: number
  next: number
  epoch: number
  lease: Lease | undefined
  stop: StopRequest | undefined
  damage: LogDamage | undefined

  /** Counts accepted changes: records and row updates. */
  revision = 0
  /** Text of accepted records that are not yet part of a commit. */
  text = ''
  textCount = 0
  /** The next commit must write the row. */
  dirty = false
  /** Its creation is not yet part of a commit. */
  isNew = false
  /** The next commit drops the records before `first`. */
  trimmed = false
  /** A commit removes the run: it accepts nothing more. */
  removed = false

  /** Undefined until the commit that creates the run is durable. Never handed out, because it is updated in place. */
  durable: Durable | undefined
  readonly tail = new Tail()

  /** Callback of the current lease's worker: called when accepted changes are dropped, whether or not a caller awaits them. */
  onFailed: ((cause: unknown) => void) | undefined

  #waiters: Waiter[] = []

  constructor(number: number, stored: StoredRun, idempotency?: Idempotency) {
    this.number = number
    this.idempotency = idempotency
    this.run = stored.run
    this.first = stored.first
    this.next = stored.next
    this.epoch = stored.epoch
    this.lease = stored.lease
    this.stop = stored.stop
    this.damage = stored.damage
  }

  get finished(): boolean {
    return isFinished(this.run.status)
  }

  /** Whether it is leased at a moment. */
  isHeld(now: number): boolean {
    return this.lease !== undefined && this.lease.until > now
  }

  /** Records that are accepted but not yet durable. */
  get pending(): number {
    return this.next - (this.durable?.next ?? 0)
  }

  /** The visible state: what is durable, plus the lease, which is only in memory. */
  view(): StoredRun | undefined {
    if (this.durable === undefined) return undefined
    const { lease: _asOfCommit, ...stored } = this.durable
    return this.lease === undefined ? stored : { ...stored, lease: this.lease }
  }

  /** The state that the next commit makes durable. */
  snapshot(): StoredRun {
    return {
      run: this.run,
      first: this.first,
      next: this.next,
      epoch: this.epoch,
      ...(this.lease !== undefined && { lease: this.lease }),
      ...(this.stop !== undefined && { stop: this.stop }),
      ...(this.damage !== undefined && { damage: this.damage }),
    }
  }

  row(): RunRow {
    const { run } = this
    return {
      number: this.number,
      id: run.id,
      owner: run.owner,
      component: run.component,
      session: run.session,
      status: run.status,
      created: run.createdAt,
      finished: run.finishedAt ?? null,
      epoch: this.epoch,
      first: this.first,
      next: this.next,
      run: JSON.stringify(run),
      stop: this.stop === undefined ? null : JSON.stringify(this.stop),
      idempotencyKey: this.idempotency?.key ?? null,
      fingerprint: this.idempotency?.fingerprint ?? null,
      isNew: this.isNew,
    }
  }

  /** Resolves when everything accepted so far is durable. Callers that are not patient are refused when the disk stalls. */
  wait({ patient = false } = {}): Promise<void> {
    return new Promise((resolve, reject) => this.#waiters.push({ revision: this.revision, resolve, reject, patient }))
  }

  /** A revision is durable: resolves the waits for it and for earlier ones. */
  settle(revision: number): void {
    if (this.#waiters.length === 0) return
    const waiters = this.#waiters
    this.#waiters = waiters.filter((waiter) => waiter.revision > revision)
    for (const waiter of waiters) if (waiter.revision <= revision) waiter.resolve()
  }

  /** The disk stalls. Accepted changes may still become durable. */
  stall(cause: unknown): void {
    const waiters = this.#waiters
    this.#waiters = waiters.filter(({ patient }) => patient)
    for (const waiter of waiters) if (!waiter.patient) waiter.reject(cause)
  }

  fail(cause: unknown): void {
    const waiters = this.#waiters
    this.#waiters = []
    for (const waiter of waiters) waiter.reject(cause)
    this.onFailed?.(cause)
  }
}
