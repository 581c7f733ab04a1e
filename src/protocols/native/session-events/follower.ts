/** Follows all runs of a session, including future ones: delivers the events of each run in order, once. Holds positions, no events. */
import { isHoldfastError, HoldfastError } from '../../../core/model/errors.ts'
import type { Principal } from '../../../core/model/principal.ts'
import { lastOf, type RawRecord, rawRecords } from '../../../core/model/slice.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import type { Service } from '../../../core/service.ts'
import { CURSOR_RUNS_MAX, encodeCursor, type SessionCursor } from './cursor.ts'

/** A run may become visible this much later than its creation time: clocks of nodes differ, and creating takes time. */
const LATE_MS = 5 * 60 * 1000

/** Maximum runs that a follower can catch up with. */
const BACKLOG_MAX = 10_000

export interface Follower {
  readonly service: Service
  readonly principal: Principal
  readonly session: string
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** Events of one run, or a gap in it. */
export type Batch =
  | { readonly run: string; readonly records: readonly RawRecord[] }
  | { readonly run: string; readonly earliest: number }

interface FollowedRun {
  readonly id: string
  readonly created: number
  /** Index of the last delivered event. */
  at: number | 'end'
}

export class SessionFollower {
  readonly #parts: Follower
  /** By id, oldest first. Runs that have not started are not part of the cursor. */
  readonly #runs = new Map<string, FollowedRun>()
  readonly #unwatch: () => void
  #since: number
  /** A run may have been started since the last refresh. */
  #hasChanges = false
  #wake: (() => void) | undefined

  constructor(parts: Follower, { since, runs }: SessionCursor) {
    this.#parts = parts
    this.#since = since
    for (const [id, at] of runs) this.#runs.set(id, { id, created: 0, at })
    this.#unwatch = parts.service.onSessionRun(parts.principal, parts.session, () => {
      this.#hasChanges = true
      this.#wake?.()
    })
  }

  close(): void {
    this.#unwatch()
  }

  /** The position after everything delivered. */
  get cursor(): string {
    return this.cursorAt('', -1)
  }

  /** The position with one run at an earlier event. */
  cursorAt(run: string, index: number): string {
    const listed = [...this.#runs.values()].filter(({ at }) => at !== -1)
    const positions = new Map(listed.map(({ id, at }) => [id, at]))
    if (run !== '') positions.set(run, index)
    return encodeCursor({ since: this.#since, runs: positions })
  }

  /** Finds new runs. */
  async refresh(): Promise<void> {
    this.#hasChanges = false
    const found = (await this.#newerRuns()).toReversed()
    for (const { run } of found) {
      const created = Date.parse(run.createdAt)
      const known = this.#runs.get(run.id)
      this.#runs.set(run.id, { id: run.id, created, at: known?.at ?? -1 })
    }
    this.#forget()
  }

  /** Skips all stored events. */
  async skip(): Promise<void> {
    const { service, principal, session } = this.#parts
    this.#since = this.#parts.now() - LATE_MS
    for (const { run, next } of await this.#newerRuns()) this.#put(run.id, run.createdAt, next - 1)
    const { runs } = await service.list(principal, {
      session,
      status: ['queued', 'running', 'paused'],
      limit: CURSOR_RUNS_MAX,
    })
    for (const { run, next } of runs) this.#put(run.id, run.createdAt, next - 1)
  }

  #put(id: string, createdAt: string, at: number): void {
    this.#runs.set(id, { id, created: Date.parse(createdAt), at })
  }

  async #newerRuns(): Promise<StoredRun[]> {
    const { service, principal, session } = this.#parts
    const found: StoredRun[] = []
    for (let after: string | undefined; ;) {
      const page = await service.list(principal, {
        session,
        limit: service.limits.maxPageRuns,
        ...(after && { after }),
      })
      const newer = page.runs.filter(({ run }) => Date.parse(run.createdAt) >= this.#since)
      found.push(...newer)
      if (newer.length < page.runs.length || page.cursor === undefined) return found
      if (found.length >= BACKLOG_MAX)
        throw new HoldfastError(
          'too_large',
          `the session has more than ${BACKLOG_MAX} runs after the cursor: follow it with ?after=end, and read the runs one by one`,
        )
      after = page.cursor
    }
  }

  /** The next stored events. Undefined if there are none now. */
  async next(limit: number): Promise<Batch | undefined> {
    for (const followed of this.#runs.values()) {
      const batch = await this.#read(followed, limit)
      if (batch !== undefined) return batch
    }
    return undefined
  }

  async #read(followed: FollowedRun, limit: number): Promise<Batch | undefined> {
    const { id, at } = followed
    if (at === 'end') return undefined
    const { service, principal } = this.#parts
    try {
      const slice = await service.read(principal, id, at)
      if (slice === undefined) return undefined
      const records = rawRecords(slice).slice(0, limit)
      const { index } = records.at(-1)!
      followed.at = slice.closed && index === lastOf(slice) ? 'end' : index
      // A run that is caught up lets the others go first.
      if (!slice.closed && slice.bytes.length < service.limits.maxReadBytes / 2) {
        this.#runs.delete(id)
        this.#runs.set(id, followed)
      }
      this.#forget()
      return { run: id, records }
    } catch (cause) {
      if (isHoldfastError(cause, 'cursor_expired')) return this.#skipTrimmed(followed)
      // Removed or unreadable: its own stream reports why.
      if (!isHoldfastError(cause, 'not_found') && !isHoldfastError(cause, 'log_damaged')) throw cause
      followed.at = 'end'
      return undefined
    }
  }

  async #skipTrimmed(followed: FollowedRun): Promise<Batch> {
    const { first } = await this.#parts.service.get(this.#parts.principal, followed.id)
    followed.at = first - 1
    return { run: followed.id, earliest: first }
  }

  /** Resolves when there may be a new run or event, or at the timeout. */
  async wait(timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (this.#hasChanges) return
    const { service, principal } = this.#parts
    const woken = new AbortController()
    const ended = AbortSignal.any([signal, woken.signal])
    const open = [...this.#runs.values()].filter(({ at }) => at !== 'end').slice(-WATCHED_MAX)
    const pause = new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(timeoutMs, 0)) // the timeout may have passed already
      this.#wake = resolve
      ended.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
    })
    const changes = open.map(({ id, at }) =>
      service.waitForMore(principal, id, at as number, timeoutMs, ended).catch(() => pause),
    )
    await Promise.race([pause, ...changes])
    this.#wake = undefined
    woken.abort()
  }

  /** Drops runs that ended so long ago that no earlier run can appear. */
  #forget(): void {
    let since = this.#parts.now() - LATE_MS
    for (const { at, created } of this.#runs.values()) if (at === -1) since = Math.min(since, created)
    if (since > this.#since) this.#since = since
    const ended = [...this.#runs.values()].filter(({ at }) => at === 'end')
    const listed = [...this.#runs.values()].filter(({ at }) => at !== -1).length
    const tooMany = Math.max(0, listed - CURSOR_RUNS_MAX)
    for (const [position, { id, created }] of ended.entries()) {
      if (position < tooMany) this.#since = Math.max(this.#since, created + 1)
      if (created < this.#since) this.#runs.delete(id)
    }
    if (listed - ended.length > CURSOR_RUNS_MAX)
      throw new HoldfastError(
        'too_large',
        `more than ${CURSOR_RUNS_MAX} runs of the session are unfinished: follow them one by one`,
      )
  }
}

/** Maximum runs whose hints are watched; others are polled. */
const WATCHED_MAX = 32
