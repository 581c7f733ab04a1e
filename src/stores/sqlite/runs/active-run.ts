/** A run that the store holds in memory: unfinished, or with records that are not in a segment yet. */
import { isFinished, type Run } from '../../../core/model/run.ts'
import type { Lease, LogDamage, StopRequest, StoredRun } from '../../../core/ports/store.ts'
import type { RunRow } from '../committing/committing-messages.ts'
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

/** The changes of a run that one commit takes. */
export interface TakenWork {
  readonly revision: number
  readonly text: string
  /** Index of the first record in `text`. */
  readonly first: number
  readonly count: number
  readonly next: number
  /** The durable view once the commit is through, and the row, if more than `next` changes. */
  readonly changed: StoredRun | undefined
  readonly row: RunRow | undefined
  /** Records before this one are dropped. */
  readonly trimmedBefore: number | undefined
}

/**
 * Two views of one run: the accepted state, which decides the next command, and the durable state, which is all that readers
 * see. They differ by what is on its way to disk.
 */
export class ActiveRun {
  readonly number: number
  readonly idempotency: Idempotency | undefined
  readonly tail = new Tail()

  // Accepted.
  #run: Run
  #first: number
  #next: number
  #epoch: number
  #lease: Lease | undefined
  #stop: StopRequest | undefined
  #damage: LogDamage | undefined
  /** The run is being removed: it accepts nothing more. */
  #isRemoved = false

  /** Counts accepted records and row changes. */
  #revision = 0
  /** Text of accepted records that no commit has taken yet. */
  #text = ''
  #textCount = 0
  /** The row must be written by the next commit. */
  #isDirty = false
  /** No commit has taken its creation yet. */
  #isNew = false
  /** The next commit drops the records before `first`. */
  #isTrimmed = false

  /** Undefined until the commit that creates the run is durable. Never handed out: it is updated in place. */
  #durable: Durable | undefined

  /** Callback of the last claimant: called when accepted changes are dropped, whether or not anybody waits for them. */
  #onFailed: ((cause: unknown) => void) | undefined
  #waiters: Waiter[] = []

  private constructor(number: number, stored: StoredRun, idempotency: Idempotency | undefined) {
    this.number = number
    this.idempotency = idempotency
    this.#run = stored.run
    this.#first = stored.first
    this.#next = stored.next
    this.#epoch = stored.epoch
    this.#lease = stored.lease
    this.#stop = stored.stop
    this.#damage = stored.damage
  }

  /** A run that is not in the file yet, with its first record. */
  static created(number: number, stored: StoredRun, record: string, idempotency?: Idempotency): ActiveRun {
    const active = ActiveRun.imported(number, stored, record, idempotency)
    active.#isNew = true
    return active
  }

  /** A run of another store, with its first record. It may be imported for the second time. */
  static imported(number: number, stored: StoredRun, record: string, idempotency?: Idempotency): ActiveRun {
    const active = new ActiveRun(number, stored, idempotency)
    active.#text = record
    active.#textCount = 1
    return active
  }

  /** A run that the file has. */
  static loaded(number: number, stored: StoredRun, idempotency?: Idempotency): ActiveRun {
    const active = new ActiveRun(number, stored, idempotency)
    active.#durable = { ...stored }
    return active
  }

  get run(): Run {
    return this.#run
  }

  get first(): number {
    return this.#first
  }

  get next(): number {
    return this.#next
  }

  get epoch(): number {
    return this.#epoch
  }

  get lease(): Lease | undefined {
    return this.#lease
  }

  get stop(): StopRequest | undefined {
    return this.#stop
  }

  get damage(): LogDamage | undefined {
    return this.#damage
  }

  get isRemoved(): boolean {
    return this.#isRemoved
  }

  get durable(): Readonly<Durable> | undefined {
    return this.#durable
  }

  /** Characters of accepted records that no commit has taken yet. */
  get waitingChars(): number {
    return this.#text.length
  }

  get finished(): boolean {
    return isFinished(this.#run.status)
  }

  /** Accepts a record, with the changed run if it changes it. */
  append(record: string, change: Run | undefined): void {
    this.#text += record
    this.#textCount++
    this.#next++
    if (change === undefined) return
    this.#run = change
    if (this.finished || change.status === 'paused') this.#lease = undefined
  }

  /** Counts the accepted change as a revision, which callers can await. */
  revise(isRowChanged: boolean): void {
    this.#revision++
    if (isRowChanged) this.#isDirty = true
  }

  claim(worker: string, until: number): void {
    this.#epoch++
    this.#lease = { worker, until }
  }

  renew(until: number): void {
    if (this.#lease !== undefined) this.#lease = { ...this.#lease, until }
  }

  release(): void {
    this.#lease = undefined
  }

  requestStop(stop: StopRequest): void {
    this.#stop = stop
  }

  trim(first: number): void {
    this.#first = first
    this.#isTrimmed = true
  }

  remove(): void {
    this.#isRemoved = true
  }

  /** Marks the run as damaged: it is not readable, and its worker is fenced. */
  quarantine(damage: LogDamage): void {
    this.#damage ??= damage
    if (this.#durable !== undefined) this.#durable = { ...this.#durable, damage }
    this.#epoch++
    this.#lease = undefined
  }

  /** `callback` replaces that of the previous writer. */
  onFailed(callback: ((cause: unknown) => void) | undefined): void {
    this.#onFailed = callback
  }

  /** Passes everything accepted since the last call to a commit. */
  take(): TakenWork {
    const count = this.#textCount
    const taken: TakenWork = {
      revision: this.#revision,
      text: this.#text,
      first: this.#next - count,
      count,
      next: this.#next,
      changed: this.#isDirty ? this.snapshot() : undefined,
      row: this.#isDirty ? this.row() : undefined,
      trimmedBefore: this.#isTrimmed ? this.#first : undefined,
    }
    this.#text = ''
    this.#textCount = 0
    this.#isDirty = false
    this.#isNew = false
    this.#isTrimmed = false
    return taken
  }

  /** Makes the changes of a durable commit visible. */
  commit({ next, changed }: Pick<TakenWork, 'next' | 'changed'>): void {
    if (changed === undefined) this.#durable!.next = next
    else this.#durable = { ...changed }
  }

  /** Whether it is leased at a time. */
  isHeld(now: number): boolean {
    return this.#lease !== undefined && this.#lease.until > now
  }

  /** Records that are accepted but not yet durable. */
  get pending(): number {
    return this.#next - (this.#durable?.next ?? 0)
  }

  /** The visible state: what is durable, plus the lease, which is only in memory. */
  view(): StoredRun | undefined {
    if (this.#durable === undefined) return undefined
    const { lease: _asOfCommit, ...stored } = this.#durable
    return this.#lease === undefined ? stored : { ...stored, lease: this.#lease }
  }

  /** The state that the next commit makes durable. */
  snapshot(): StoredRun {
    return {
      run: this.#run,
      first: this.#first,
      next: this.#next,
      epoch: this.#epoch,
      ...(this.#lease !== undefined && { lease: this.#lease }),
      ...(this.#stop !== undefined && { stop: this.#stop }),
      ...(this.#damage !== undefined && { damage: this.#damage }),
    }
  }

  row(): RunRow {
    const run = this.#run
    return {
      number: this.number,
      id: run.id,
      owner: run.owner,
      component: run.component,
      session: run.session,
      status: run.status,
      created: run.createdAt,
      finished: run.finishedAt ?? null,
      epoch: this.#epoch,
      first: this.#first,
      next: this.#next,
      run: JSON.stringify(run),
      stop: this.#stop === undefined ? null : JSON.stringify(this.#stop),
      idempotencyKey: this.idempotency?.key ?? null,
      fingerprint: this.idempotency?.fingerprint ?? null,
      isNew: this.#isNew,
    }
  }

  /** Resolves when everything accepted so far is durable. Callers that are not patient are refused when the disk stalls. */
  wait({ patient = false } = {}): Promise<void> {
    return new Promise((resolve, reject) => this.#waiters.push({ revision: this.#revision, resolve, reject, patient }))
  }

  /** A revision is durable: resolves the waits for it and earlier ones. Default: everything accepted. */
  settle(revision = this.#revision): void {
    if (this.#waiters.length === 0) return
    const waiters = this.#waiters
    this.#waiters = waiters.filter((waiter) => waiter.revision > revision)
    for (const waiter of waiters) if (waiter.revision <= revision) waiter.resolve()
  }

  /** Rejects impatient waits because the disk stalls. Accepted changes may still become durable. */
  stall(cause: unknown): void {
    const waiters = this.#waiters
    this.#waiters = waiters.filter(({ patient }) => patient)
    for (const waiter of waiters) if (!waiter.patient) waiter.reject(cause)
  }

  fail(cause: unknown): void {
    const waiters = this.#waiters
    this.#waiters = []
    for (const waiter of waiters) waiter.reject(cause)
    this.#onFailed?.(cause)
  }
}
