/** A run that the store keeps in memory: unfinished, or with records that are not in a segment yet. */
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
 * Two views of one run: what was accepted, which decides about the next command, and what is durable, which is all that
 * anyone may see. They differ by what is on its way to the disk.
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

  /** Counts what was accepted: records and changes of the row. */
  revision = 0
  /** Text of accepted records that no commit has taken yet. */
  text = ''
  textCount = 0
  /** The row must be written by the next commit. */
  dirty = false
  /** No commit has taken its creation yet. */
  isNew = false
  /** The next commit drops the records before `first`. */
  trimmed = false
  /** A commit takes the run away: it takes nothing more. */
  removed = false

  /** Undefined until the commit that creates the run is through. Nobody is given it: it goes on with the run. */
  durable: Durable | undefined
  readonly tail = new Tail()

  /** Of the last one who claimed it: told when what was accepted is dropped, whether or not anybody waits for it. */
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

  /** Held by someone at a moment. */
  isHeld(now: number): boolean {
    return this.lease !== undefined && this.lease.until > now
  }

  /** Records accepted and not yet durable. */
  get pending(): number {
    return this.next - (this.durable?.next ?? 0)
  }

  /** What may be seen: what is durable, and the lease, which is only kept in memory. */
  view(): StoredRun | undefined {
    if (this.durable === undefined) return undefined
    const { lease: _asOfCommit, ...stored } = this.durable
    return this.lease === undefined ? stored : { ...stored, lease: this.lease }
  }

  /** What the next commit will make durable. */
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

  /** Until everything accepted so far is durable. Whoever is not patient is refused when the disk stalls. */
  wait({ patient = false } = {}): Promise<void> {
    return new Promise((resolve, reject) => this.#waiters.push({ revision: this.revision, resolve, reject, patient }))
  }

  /** A revision is durable: whoever waited for it or an earlier one goes on. */
  settle(revision: number): void {
    if (this.#waiters.length === 0) return
    const waiters = this.#waiters
    this.#waiters = waiters.filter((waiter) => waiter.revision > revision)
    for (const waiter of waiters) if (waiter.revision <= revision) waiter.resolve()
  }

  /** The disk stalls. What was accepted may still become durable. */
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
