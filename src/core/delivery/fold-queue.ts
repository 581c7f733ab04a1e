/**
 * Limits concurrent folds of long logs, per node and per owner of the logs. Further folds wait in a bounded queue, round-robin
 * between owners. A log of one page needs no slot, so short runs never wait for long ones.
 */
import { HoldfastError } from '../model/errors.ts'
import type { Limits } from '../model/limits.ts'
import { localOwner } from '../model/principal.ts'
import type { Clock } from '../ports/clock.ts'
import { startTimer } from '../runtime/timer.ts'
import type { ReferencedState, ViewHolder, ViewMemory } from './view-memory.ts'

type FoldLimits = Pick<Limits, 'maxConcurrentFolds' | 'maxQueuedFolds' | 'foldQueueTimeoutMs' | 'retryDelayMs'>

interface Waiting {
  readonly start: () => void
}

export class FoldQueue {
  readonly #limits: FoldLimits
  readonly #memory: ViewMemory
  readonly #clock: Pick<Clock, 'startTimer'>
  readonly #active = new Map<string, number>()
  #total = 0
  /** Waiting folds by owner. The first owner in the map is next. */
  readonly #waiting = new Map<string, Waiting[]>()
  #queued = 0

  constructor(limits: FoldLimits, memory: ViewMemory, clock: Pick<Clock, 'startTimer'> = {}) {
    this.#limits = limits
    this.#memory = memory
    this.#clock = clock
  }

  /** Folds that hold a slot. */
  get active(): number {
    return this.#total
  }

  get queued(): number {
    return this.#queued
  }

  /** Starts a fold of a log of this owner. It takes a slot only if the log has more than one page. */
  begin(owner: string): Fold {
    return new Fold(this.#memory, owner, {
      take: () => this.#take(owner),
      give: () => this.#give(owner),
    })
  }

  #take(owner: string): Promise<void> | undefined {
    if (!this.#hasSlotFor(owner)) return this.#wait(owner)
    this.#start(owner)
    return undefined
  }

  #hasSlotFor(owner: string): boolean {
    return this.#total < this.#limits.maxConcurrentFolds && (this.#active.get(owner) ?? 0) < this.#share(owner)
  }

  #share(owner: string): number {
    const { maxConcurrentFolds: most } = this.#limits
    return owner === localOwner ? most : Math.ceil(most / 2)
  }

  #start(owner: string): void {
    this.#total++
    this.#active.set(owner, (this.#active.get(owner) ?? 0) + 1)
  }

  #give(owner: string): void {
    this.#total--
    const rest = this.#active.get(owner)! - 1
    if (rest > 0) this.#active.set(owner, rest)
    else this.#active.delete(owner)
    this.#startWaiting()
  }

  #wait(owner: string): Promise<void> {
    const { maxQueuedFolds: most, foldQueueTimeoutMs, retryDelayMs: retryAfterMs } = this.#limits
    const waiting = this.#waiting.get(owner) ?? []
    if (owner !== localOwner && waiting.length >= Math.ceil(most / 2))
      throw new HoldfastError(
        'rate_limited',
        'you are reading too many long runs at once: wait until one request ends, then retry',
        {
          retryAfterMs,
        },
      )
    if (this.#queued >= most) throw overloaded(retryAfterMs)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const stop = startTimer(
      () => {
        this.#remove(owner, entry)
        reject(overloaded(retryAfterMs))
      },
      foldQueueTimeoutMs,
      this.#clock,
    )
    const entry: Waiting = {
      start: () => {
        stop()
        this.#remove(owner, entry)
        this.#start(owner)
        resolve()
      },
    }
    waiting.push(entry)
    this.#waiting.set(owner, waiting)
    this.#queued++
    return promise
  }

  #remove(owner: string, entry: Waiting): void {
    const waiting = this.#waiting.get(owner)!
    waiting.splice(waiting.indexOf(entry), 1)
    this.#queued--
    if (waiting.length === 0) this.#waiting.delete(owner)
  }

  #startWaiting(): void {
    const owner = [...this.#waiting.keys()].find((waits) => this.#hasSlotFor(waits))
    if (owner === undefined) return
    const waiting = this.#waiting.get(owner)!
    // Moves the owner to the end of the round-robin order.
    this.#waiting.delete(owner)
    this.#waiting.set(owner, waiting)
    waiting[0]!.start()
  }
}

function overloaded(retryAfterMs: number): HoldfastError {
  const message = 'this node is reading as many long runs as it may: try again later'
  return new HoldfastError('unavailable', message, { retryAfterMs })
}

interface Slots {
  readonly take: () => Promise<void> | undefined
  readonly give: () => void
}

export class Fold {
  readonly #slots: Slots
  readonly #holder: ViewHolder
  readonly #shed = new AbortController()
  #hasSlot = false
  #hasEnded = false

  constructor(memory: ViewMemory, owner: string, slots: Slots) {
    this.#slots = slots
    this.#holder = memory.hold(owner, (error) => this.#shed.abort(error))
  }

  /** Aborted when the node needs the memory for others. The reason is the error. */
  get signal(): AbortSignal {
    return this.#shed.signal
  }

  /** Call before each page except the first. Throws if the queue is full or the wait times out. */
  async proceed(): Promise<void> {
    if (this.#hasSlot) return
    const waiting = this.#slots.take()
    if (waiting !== undefined) await waiting
    this.#hasSlot = true
    if (this.#hasEnded) this.pause()
  }

  /** Releases the slot while this fold waits for new events. */
  pause(): void {
    if (this.#hasSlot) this.#slots.give()
    this.#hasSlot = false
  }

  /** Throws if the fold holds too much memory. */
  retain(state: ReferencedState): void {
    this.#holder.update(state)
    this.#shed.signal.throwIfAborted()
  }

  end(): void {
    this.#hasEnded = true
    this.pause()
    this.#holder.release()
  }
}
