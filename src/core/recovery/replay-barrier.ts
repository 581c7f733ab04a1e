/**
 * Holds back new work during replay until the code has requested all recorded work. Recorded work never depends on unrecorded work,
 * so unchanged code always gets there. Code that does not get there within `replayWaitMs` has diverged, which is detected before the
 * new work has any effect.
 */
import type { Clock } from '../ports/clock.ts'
import { type Enclosure, isAround } from './enclosure.ts'
import type { Ledger } from './ledger.ts'
import { startTimer } from '../runtime/timer.ts'
import type { WorkKind, WorkRecord } from './recorded-work.ts'

/** Work that the code requests while recorded work is missing. */
export interface RequestedWork {
  readonly kind: WorkKind | 'end'
  readonly name: string
  /** With `end`: message of the error that ended it. */
  readonly error?: string
}

/** A difference between the code and the log. */
export interface Divergence {
  /** Index of the recorded work that was not requested again. */
  readonly index: number
  readonly recorded: { readonly kind: WorkKind; readonly name: string; readonly key: string }
  readonly asked: RequestedWork
}

export interface ReplayBarrierOptions {
  readonly ledger: Ledger
  /** How long new work waits while no recorded work is requested. */
  readonly waitMs: number
  readonly clock: Clock
  /** Resolves if the run is to continue nevertheless, rejects if it ends. */
  readonly diverged: (divergence: Divergence) => Promise<void>
}

export class ReplayBarrier {
  readonly #ledger: Ledger
  readonly #options: ReplayBarrierOptions
  /** Interrupted work that is being repeated: nested recorded work may be requested as long as it runs. */
  readonly #redone = new Set<string>()
  /** The `instead` functions of waiting work that may replace a missing record. */
  readonly #replacing = new Set<() => WorkRecord | undefined>()
  #deciding: Promise<void> | undefined
  /** Waiting requests that repeat a record, and the number released so far. */
  #repeatsBlocked = 0
  #repeatsReleased = 0

  constructor(options: ReplayBarrierOptions) {
    this.#ledger = options.ledger
    this.#options = options
  }

  /** Whether new work must call `admit`: recorded work is missing, or a divergence is being decided. */
  get isBlocking(): boolean {
    return this.#ledger.isBehind || this.#deciding !== undefined
  }

  /** Resolves when work that is not logged may start. */
  async admit(work: BlockedWork): Promise<void> {
    const { instead } = work
    if (instead !== undefined) this.#replacing.add(instead)
    try {
      await this.#block(this.#ledger.firstMissing(), work)
    } finally {
      if (instead !== undefined) this.#replacing.delete(instead)
    }
  }

  /** Resolves when all recorded work nested in a piece of work, or in the run, was requested: before that it cannot have ended. */
  async end(
    requested: RequestedWork,
    ref: string | undefined,
    enclosure: Enclosure | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (!this.isBlocking) return
    const isBelow = (record: WorkRecord): boolean => ref === undefined || this.#ledger.isBelow(record, ref)
    await this.#block(this.#ledger.firstMissing(isBelow), { requested, enclosure, signal })
  }

  /** Marks interrupted work as being repeated, until the returned function is called. */
  redo(ref: string): () => void {
    this.#redone.add(ref)
    return () => this.#redone.delete(ref)
  }

  async #block(missing: () => WorkRecord | undefined, work: BlockedWork): Promise<void> {
    for (;;) {
      while (this.#deciding !== undefined) await this.#deciding
      if (missing() === undefined) return
      await this.#waitAs(missing, work)
      const record = missing()
      if (record === undefined || this.#deciding !== undefined) continue
      if (work.isRepeat === true) return void this.#repeatsReleased++
      const replaced = this.#replaced()
      if (replaced !== undefined) this.#ledger.pass(replaced)
      else await this.#diverge(record, work.requested)
    }
  }

  /** Includes records that other waiting work replaces: which wait ends first must not decide whether the run has diverged. */
  #replaced(): WorkRecord | undefined {
    for (const instead of this.#replacing) {
      const replaced = instead()
      if (replaced !== undefined) return replaced
    }
    return undefined
  }

  async #waitAs(missing: () => WorkRecord | undefined, work: BlockedWork): Promise<void> {
    if (work.isRepeat !== true) return this.#wait(missing, work)
    this.#repeatsBlocked++
    try {
      await this.#wait(missing, work)
    } finally {
      this.#repeatsBlocked--
    }
  }

  /** Resolves when nothing is missing, or when no recorded work was requested during the wait. */
  #wait(missing: () => WorkRecord | undefined, { enclosure, signal, isRepeat }: BlockedWork): Promise<void> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    let stopTimer: () => void
    const start = (): void => {
      const { changes } = this.#ledger
      const released = this.#repeatsReleased
      // Missing work may come after a repeated request, so repeated requests are released first.
      const isAfterRepeat = (): boolean =>
        isRepeat !== true && (this.#repeatsBlocked > 0 || released !== this.#repeatsReleased)
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

  /** Whether all missing work is nested in work that is being repeated elsewhere. */
  #isComing(enclosure: Enclosure | undefined): boolean {
    const others = [...this.#redone].filter((ref) => !isAround(enclosure, ref))
    const isElsewhere = (record: WorkRecord): boolean => !others.some((ref) => this.#ledger.isBelow(record, ref))
    return this.#ledger.firstMissing(isElsewhere)() === undefined
  }

  /** Makes one decision for all waiting work. */
  async #diverge({ index, kind, name, key }: WorkRecord, requested: RequestedWork): Promise<void> {
    this.#deciding ??= this.#options
      .diverged({ index, recorded: { kind, name, key }, asked: requested })
      .finally(() => (this.#deciding = undefined))
    await this.#deciding
  }
}

/** Work that waits for the replay. */
interface BlockedWork {
  readonly requested: RequestedWork
  readonly enclosure: Enclosure | undefined
  readonly signal: AbortSignal
  /** Called after the wait. May return a record that this work replaces. */
  readonly instead?: (() => WorkRecord | undefined) | undefined
  /**
   * An equal request has taken the record of this one (`Ledger.isRepeat`), so missing work may come only after this work. It starts
   * when the wait is over: the code requests one such piece of work more than is logged, whichever request was the new one.
   */
  readonly isRepeat?: boolean
}
