/**
 * New work waits for the past. While the log has work that the code has not asked for again, work that the log does not know is
 * held: nothing that is recorded depends on something that is not, so the same code always gets there. Code that does not get
 * there in time has diverged from its log, and that is noticed before the new work has had any effect.
 */
import type { Clock } from '../ports/clock.ts'
import { type Enclosure, isAround } from './enclosure.ts'
import type { Ledger } from './ledger.ts'
import { startTimer } from '../runtime/timer.ts'
import type { WorkKind, WorkRecord } from './recorded-work.ts'

/** What the code wants while the log has work that it has not asked for. */
export interface RequestedWork {
  readonly kind: WorkKind | 'end'
  readonly name: string
}

/** Where code and log part. */
export interface Divergence {
  /** Event of the recorded work that was not asked for again. */
  readonly index: number
  readonly recorded: { readonly kind: WorkKind; readonly name: string; readonly key: string }
  readonly asked: RequestedWork
}

export interface ReplayBarrierOptions {
  readonly ledger: Ledger
  /** How long new work is held without anything recorded being asked for. */
  readonly waitMs: number
  readonly clock: Clock
  /** Resolves when the run is to continue in spite of it; rejects when it ends. */
  readonly diverged: (divergence: Divergence) => Promise<void>
}

export class ReplayBarrier {
  readonly #ledger: Ledger
  readonly #options: ReplayBarrierOptions
  /** Cut-off work that is being done again: what the log has below it may be asked for as long as that takes. */
  readonly #redone = new Set<string>()
  /** Of the work that is held and may replace what is missing. */
  readonly #replacing = new Set<() => WorkRecord | undefined>()
  #deciding: Promise<void> | undefined
  /** Requests that repeat what the log has and are held now, and how many were let go. */
  #repeatsHeld = 0
  #repeatsLetGo = 0

  constructor(options: ReplayBarrierOptions) {
    this.#ledger = options.ledger
    this.#options = options
  }

  /** Whether new work must be admitted: the log has work that was not asked for, or somebody decides about that now. */
  get isHolding(): boolean {
    return this.#ledger.isBehind || this.#deciding !== undefined
  }

  /** Resolves when work that the log does not know may begin. */
  async admit(held: HeldWork): Promise<void> {
    const { instead } = held
    if (instead !== undefined) this.#replacing.add(instead)
    try {
      await this.#hold(this.#ledger.firstMissing(), held)
    } finally {
      if (instead !== undefined) this.#replacing.delete(instead)
    }
  }

  /** Resolves when all that the log has below a piece of work, or in the run, was asked for: before that it cannot have ended. */
  async end(
    wanted: RequestedWork,
    ref: string | undefined,
    enclosure: Enclosure | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (!this.isHolding) return
    const isBelow = (record: WorkRecord): boolean => ref === undefined || this.#ledger.isBelow(record, ref)
    await this.#hold(this.#ledger.firstMissing(isBelow), { wanted, enclosure, signal })
  }

  /** Cut-off work is done again until the returned function is called. */
  redo(ref: string): () => void {
    this.#redone.add(ref)
    return () => this.#redone.delete(ref)
  }

  async #hold(missing: () => WorkRecord | undefined, held: HeldWork): Promise<void> {
    for (;;) {
      while (this.#deciding !== undefined) await this.#deciding
      if (missing() === undefined) return
      await this.#waitAs(missing, held)
      const record = missing()
      if (record === undefined || this.#deciding !== undefined) continue
      if (held.isRepeat === true) return void this.#repeatsLetGo++
      const replaced = this.#replaced()
      if (replaced !== undefined) this.#ledger.pass(replaced)
      else await this.#diverge(record, held.wanted)
    }
  }

  /** What other held work replaces counts too: whose wait is over first must not decide whether the run has diverged. */
  #replaced(): WorkRecord | undefined {
    for (const instead of this.#replacing) {
      const replaced = instead()
      if (replaced !== undefined) return replaced
    }
    return undefined
  }

  async #waitAs(missing: () => WorkRecord | undefined, held: HeldWork): Promise<void> {
    if (held.isRepeat !== true) return this.#wait(missing, held)
    this.#repeatsHeld++
    try {
      await this.#wait(missing, held)
    } finally {
      this.#repeatsHeld--
    }
  }

  /** Until nothing is missing, or nothing recorded was asked for during the wait. */
  #wait(missing: () => WorkRecord | undefined, { enclosure, signal, isRepeat }: HeldWork): Promise<void> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    let stopTimer: () => void
    const start = (): void => {
      const { changes } = this.#ledger
      const letGo = this.#repeatsLetGo
      // What is missing may come after a repeat: those go first.
      const isAfterRepeat = (): boolean => isRepeat !== true && (this.#repeatsHeld > 0 || letGo !== this.#repeatsLetGo)
      const expired = (): void =>
        changes !== this.#ledger.changes || isAfterRepeat() || this.#isComing(enclosure) ? start() : resolve()
      stopTimer = startTimer(expired, this.#options.waitMs, this.#options.clock)
    }
    const forget = this.#ledger.onChange(() => missing() === undefined && resolve())
    const abort = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    start()
    return promise.finally(() => {
      stopTimer()
      forget()
      signal.removeEventListener('abort', abort)
    })
  }

  /** Whether all that is missing is below work that is being done again elsewhere. */
  #isComing(enclosure: Enclosure | undefined): boolean {
    const others = [...this.#redone].filter((ref) => !isAround(enclosure, ref))
    const isElsewhere = (record: WorkRecord): boolean => !others.some((ref) => this.#ledger.isBelow(record, ref))
    return this.#ledger.firstMissing(isElsewhere)() === undefined
  }

  /** One decision for all that is held. */
  async #diverge({ index, kind, name, key }: WorkRecord, asked: RequestedWork): Promise<void> {
    this.#deciding ??= this.#options
      .diverged({ index, recorded: { kind, name, key }, asked })
      .finally(() => (this.#deciding = undefined))
    await this.#deciding
  }
}

/** Work that is held. */
interface HeldWork {
  readonly wanted: RequestedWork
  readonly enclosure: Enclosure | undefined
  readonly signal: AbortSignal
  /** May give a recorded piece of work that this one replaces, when a wait is over. */
  readonly instead?: (() => WorkRecord | undefined) | undefined
  /**
   * An equal request has taken the record of this one (`Ledger.isRepeat`), so what is missing may come only after this work. It
   * begins when the wait is over: there is one such piece of work more than the log has, whichever request was the new one.
   */
  readonly isRepeat?: boolean
}
