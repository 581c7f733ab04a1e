/**
 * Crash-loop containment (RUN-6). Every run that executed when its process died may have caused the crash. At most half of these
 * suspects execute concurrently. After each further crash the number is halved again, until a run that keeps killing its process executes
 * alone and is identified. The others stay claimed and wait here.
 */
import type { Clock } from '../ports/clock.ts'
import type { Run } from '../model/run.ts'
import type { StoredRun } from '../ports/store.ts'
import { startTimer } from '../runtime/timer.ts'

/** The crash that interrupted a run, as far as it is known without reading the run's log. */
export interface CrashGroup {
  /** Number of runs that may have executed when it was interrupted. */
  readonly among: number
  /** Maximum suspects that may execute concurrently, including this run. */
  readonly concurrency: number
  /** `concurrency` if the log shows progress: the run then counts as interrupted for the first time. */
  readonly concurrencyAfterProgress: number
}

interface SuspectInQueue {
  readonly claimed: StoredRun
  readonly crashGroup: CrashGroup
}

export interface SuspectsOptions {
  readonly suspectMs: number
  readonly clock: Clock
  readonly start: (claimed: StoredRun, crashGroup: CrashGroup) => void
  /** Whether a run on this node has written anything since it was started. */
  readonly hasProgressed: (id: string) => boolean
}

/** Without progress, each consecutive interruption multiplies the time for which a run stays a suspect by this factor. */
const PATIENCE_GROWTH = 4
const GROWTHS_MAX = 8

/** Whether the run's worker died: it was started and not released. */
export function wasInterrupted({ status, released }: Run): boolean {
  return status === 'running' && released !== true
}

export class Suspects {
  readonly #options: SuspectsOptions
  /** Fewest consecutive interruptions first. */
  #waiting: SuspectInQueue[] = []
  readonly #waitingIds = new Set<string>()
  /** Executing suspects, each with its concurrency limit and the timer that clears it. */
  readonly #executing = new Map<string, { readonly concurrency: number; stopTimer: () => void }>()

  constructor(options: SuspectsOptions) {
    this.#options = options
  }

  /** Suspects that are claimed here and do not execute yet. */
  get waiting(): number {
    return this.#waiting.length
  }

  isWaiting(id: string): boolean {
    return this.#waitingIds.has(id)
  }

  /** Adds runs that were interrupted together. Each starts when it may execute. */
  add(together: readonly StoredRun[]): void {
    const fresh = half(together.length)
    for (const claimed of together) {
      const among = claimed.run.suspect?.concurrency ?? together.length
      const concurrency = claimed.run.suspect === undefined ? fresh : half(among)
      this.#waiting.push({ claimed, crashGroup: { among, concurrency, concurrencyAfterProgress: fresh } })
      this.#waitingIds.add(claimed.run.id)
    }
    this.#waiting.sort((a, b) => b.crashGroup.concurrency - a.crashGroup.concurrency)
    this.#startSome()
  }

  /** Removes a waiting suspect that will not execute. */
  take(id: string): StoredRun | undefined {
    if (!this.#waitingIds.delete(id)) return undefined
    const found = this.#waiting.find(({ claimed }) => claimed.run.id === id)
    this.#waiting = this.#waiting.filter((each) => each !== found)
    return found?.claimed
  }

  /** Notes that a run has ended, paused, or could not be started. */
  ended(id: string): void {
    const suspect = this.#executing.get(id)
    if (suspect === undefined) return
    suspect.stopTimer()
    this.#executing.delete(id)
    this.#startSome()
  }

  /** Starts no more suspects. Returns those that were waiting. */
  close(): readonly StoredRun[] {
    const waiting = this.#waiting
    this.#waiting = []
    this.#waitingIds.clear()
    for (const { stopTimer } of this.#executing.values()) stopTimer()
    this.#executing.clear()
    return waiting.map(({ claimed }) => claimed)
  }

  #startSome(): void {
    const most = Math.min(...[...this.#executing.values()].map(({ concurrency }) => concurrency))
    for (let next; (next = this.#waiting[0]) !== undefined;) {
      const { claimed, crashGroup } = next
      if (this.#executing.size >= Math.min(most, crashGroup.concurrency)) return
      this.#waiting.shift()
      this.#waitingIds.delete(claimed.run.id)
      this.#watch(claimed.run, crashGroup.concurrency)
      this.#options.start(claimed, crashGroup)
    }
  }

  #watch({ id, suspect }: Run, concurrency: number): void {
    const { suspectMs, clock, hasProgressed } = this.#options
    const patience = suspectMs * PATIENCE_GROWTH ** Math.min(suspect?.interruptions ?? 0, GROWTHS_MAX)
    const lookAfter = (waitedMs: number): void => {
      const stopTimer = startTimer(() => look(waitedMs), suspectMs, clock)
      this.#executing.set(id, { concurrency, stopTimer })
    }
    const look = (waitedMs: number): void => {
      if (waitedMs >= patience || hasProgressed(id)) this.ended(id)
      else lookAfter(waitedMs + suspectMs)
    }
    lookAfter(suspectMs)
  }
}

function half(count: number): number {
  return Math.max(Math.floor(count / 2), 1)
}
