/** Appends under one lease, fenced by its epoch. */
import { HoldfastError, storeUnavailable } from '../../../core/model/errors.ts'
import type { Run } from '../../../core/model/run.ts'
import type { LogWriter } from '../../../core/ports/store.ts'
import type { ActiveRun } from './active-run.ts'
import type { GroupCommit } from '../committing/group-commit.ts'
import { claimedAgain, expectsEvent, hasEnded } from '../../shared/refusals.ts'

export class SqliteWriter implements LogWriter {
  readonly #commits: GroupCommit
  readonly #active: ActiveRun | undefined
  readonly #id: string
  readonly #epoch: number
  readonly #onChanged: (active: ActiveRun) => void
  #next: number
  #lost: unknown

  constructor(
    commits: GroupCommit,
    active: ActiveRun | undefined,
    id: string,
    claim: { readonly epoch: number; readonly next: number },
    onChanged: (active: ActiveRun) => void,
  ) {
    this.#commits = commits
    this.#active = active
    this.#id = id
    this.#epoch = claim.epoch
    this.#next = claim.next
    this.#onChanged = onChanged
  }

  get next(): number {
    return this.#next
  }

  get pending(): number {
    return this.#active?.pending ?? 0
  }

  get pendingChars(): number {
    return this.#active?.waitingChars ?? 0
  }

  append(record: string, change?: Run): void {
    const active = this.#assertFits()
    active.append(record, change)
    this.#next++
    if (change !== undefined) this.#onChanged(active)
    this.#commits.appended(active, record.length, change !== undefined)
  }

  async flush(): Promise<void> {
    const active = this.#active
    if (this.#lost !== undefined || active === undefined)
      throw this.#lost ?? this.#refuse(new HoldfastError('closed', `run ${this.#id} has no open log`))
    if (active.pending === 0) return
    try {
      await active.wait({ patient: true })
    } catch (cause) {
      this.#lost = cause
      throw cause
    }
  }

  #assertFits(): ActiveRun {
    const active = this.#active
    if (this.#lost !== undefined) throw this.#lost
    if (this.#commits.failure !== undefined)
      throw storeUnavailable(`writes to the store fail: ${this.#commits.failure}`)
    if (active === undefined || active.finished) throw this.#refuse(hasEnded(this.#id))
    if (active.epoch !== this.#epoch) throw this.#refuse(claimedAgain(this.#id, active.epoch, this.#epoch))
    if (active.next !== this.#next) throw this.#refuse(expectsEvent(this.#id, active.next, this.#next))
    return active
  }

  /** The first refusal is final. */
  #refuse(reason: HoldfastError): unknown {
    this.#lost ??= reason
    return this.#lost
  }
}
