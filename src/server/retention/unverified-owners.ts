/** Removes what callers have stored whose credential no upstream has accepted in time. */
import { forgetOwner } from '../../core/access/forget.ts'
import type { UnverifiedCallers } from '../../core/access/unverified-callers.ts'
import type { UnverifiedMark } from '../../core/access/unverified-storage.ts'
import { isFinished } from '../../core/model/run.ts'
import { type Clock, elapsedOf } from '../../core/ports/clock.ts'
import type { Logger } from '../../core/ports/logger.ts'
import type { Store, StoredRun } from '../../core/ports/store.ts'
import { shareEventLoop } from '../../core/runtime/share-event-loop.ts'
import { repeatTimer } from '../../core/runtime/timer.ts'
import { removeRun } from './run-documents.ts'

export interface UnverifiedOwnersParts {
  readonly store: Store
  readonly callers: UnverifiedCallers
  readonly clock: Clock
  readonly logger: Logger
}

/** How long a caller has to be accepted, in swept time. */
export const KEEP_MS = 3_600_000
/** Time between the last admitted write and the removal, for writes in progress on any node. */
export const CLOSED_MS = 60_000
const SWEEP_MS = 60_000
/** Maximum owners that one sweep closes or removes. The next one continues. */
export const CHANGES_MAX = 1000
const PAGE = 100

/** A closed mark, since this node saw this version of it. */
interface Observation {
  readonly version: number
  readonly since: number
}

export class UnverifiedOwners {
  readonly #parts: UnverifiedOwnersParts
  readonly #stopTimer: () => void
  /** The closed marks, by owner. */
  #seen = new Map<string, Observation>()
  #sweeping: Promise<void> | undefined
  #closed = false

  constructor(parts: UnverifiedOwnersParts) {
    this.#parts = parts
    this.#stopTimer = repeatTimer(() => void this.sweep(), SWEEP_MS, parts.clock)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stopTimer()
    await this.#sweeping
  }

  /** Runs one sweep. A concurrent call joins the sweep in progress. */
  sweep(): Promise<void> {
    this.#sweeping ??= this.#sweep()
      .catch((cause: unknown) => {
        this.#parts.logger.warn(
          { err: cause },
          'failed to remove what unverified callers have stored; it will be retried',
        )
      })
      .finally(() => (this.#sweeping = undefined))
    return this.#sweeping
  }

  async #sweep(): Promise<void> {
    const { logger } = this.#parts
    let changed = 0
    let removed = 0
    for (const mark of await this.#due()) {
      if (this.#closed || changed >= CHANGES_MAX) break
      const change = await this.#proceed(mark)
      if (change !== 'none') changed++
      if (change === 'removed') removed++
    }
    if (removed > 0) logger.info({ callers: removed }, 'removed what callers without an accepted credential had stored')
  }

  async #due(): Promise<readonly UnverifiedMark[]> {
    const { callers, clock } = this.#parts
    const { storage } = callers
    const now = elapsedOf(clock)
    const sweptMs = await storage.time.advance()
    const seen = new Map<string, Observation>()
    const due: UnverifiedMark[] = []
    for await (const mark of storage.marks()) {
      const { owner, version, isClosed } = mark
      let isDue = sweptMs - mark.since >= KEEP_MS
      if (isClosed) {
        const before = this.#seen.get(owner)
        const observation = before?.version === version ? before : { version, since: now }
        seen.set(owner, observation)
        isDue = now - observation.since >= CLOSED_MS
      }
      if (isDue || callers.isAccepted(owner)) due.push(mark)
    }
    this.#seen = seen
    return due
  }

  async #proceed(mark: UnverifiedMark): Promise<'none' | 'changed' | 'removed'> {
    await shareEventLoop()
    const { callers, store } = this.#parts
    const { storage } = callers
    const runs = await this.#runsOf(mark.owner)
    // Only an upstream that has accepted the credential completes or pauses a run.
    const isAccepted = runs.some(({ run }) => run.status === 'completed' || run.status === 'paused')
    if (isAccepted || callers.isAccepted(mark.owner)) {
      await storage.unmark(mark.owner)
      return 'changed'
    }
    if (runs.some(({ run, damage }) => !isFinished(run.status) && damage === undefined)) return 'none'
    // Closes it again before the removal, so that no other node removes the same owner.
    const closed = await storage.close(mark)
    if (closed === undefined) return 'none'
    if (!mark.isClosed) return 'changed'
    for (const { run } of runs) await removeRun(store, run, '')
    await this.#removeDocuments(mark)
    return (await storage.removeEmpty(closed)) ? 'removed' : 'changed'
  }

  async #runsOf(owner: string): Promise<readonly StoredRun[]> {
    const found: StoredRun[] = []
    for (let after: string | undefined; ;) {
      const { runs, cursor } = await this.#parts.store.list({
        owner,
        limit: PAGE,
        ...(after !== undefined && { after }),
      })
      found.push(...runs)
      if (cursor === undefined) return found
      after = cursor
    }
  }

  async #removeDocuments({ owner, collections }: UnverifiedMark): Promise<void> {
    const { store, clock } = this.#parts
    for (const collection of collections) {
      for (;;) {
        const { documents } = await store.documents.list({ collection, owner, limit: PAGE })
        for (const { id } of documents) await store.documents.remove(owner, collection, id)
        if (documents.length < PAGE) break
      }
    }
    // What the server has written for the owner, such as deliveries: rare, because it looks at all documents.
    if ((await store.usage.of(owner)).documents > 0)
      await forgetOwner({ store, clock, owner, removeCredentials: async () => {} }, { dryRun: false, stop: false })
  }
}
