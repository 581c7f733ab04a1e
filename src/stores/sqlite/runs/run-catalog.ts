/**
 * All runs of the store, from memory and the file. Runs that are being executed or written are in memory, and their state there is
 * the latest; all others are read from the file. Runs that turn out to be damaged are quarantined.
 */
import { assertReadable } from '../../../core/model/cursor.ts'
import { runNotFound } from '../../../core/model/errors.ts'
import { cursorOf } from '../../../core/model/page.ts'
import { lastOf, type Slice, sliceBefore, sliceWithin } from '../../../core/model/slice.ts'
import type { Run } from '../../../core/model/run.ts'
import type { StoredRunPage, RunQuery, StoredRun } from '../../../core/ports/store.ts'
import { ActiveRun } from './active-run.ts'
import type { CommittingThreadHandle } from '../committing/committing-thread-handle.ts'
import type { FileConnection } from '../file-connection.ts'
import { DamageRegister } from './damage-register.ts'
import { headOf, type LogHead, type PageRequest } from '../reading/log-page.ts'
import type { QuarantinedRun } from '../committing/committing-messages.ts'
import { damageError } from '../tables/quarantine.ts'
import type { OpenResult } from '../reading/reader.ts'
import { ActiveRunIndex } from './active-run-index.ts'
import type { NumberedRun } from '../tables/run-rows.ts'
import { idInUse } from '../../shared/refusals.ts'

/** A run that has an idempotency key. */
interface KeyedRun {
  readonly fingerprint: string
  /** Resolves when its creation is durable. */
  stored(): Promise<StoredRun>
}

export class RunCatalog {
  /** The runs in memory. */
  readonly active = new ActiveRunIndex()
  readonly damage: DamageRegister
  readonly #connection: FileConnection
  /** Called when a lane gets another head because its first run was quarantined. */
  readonly #onQuarantined: (active: ActiveRun) => void
  #highestNumber = 0

  constructor(connection: FileConnection, damage: DamageRegister, onQuarantined: (active: ActiveRun) => void) {
    this.#connection = connection
    this.damage = damage
    this.#onQuarantined = onQuarantined
  }

  /** Called when the file was opened or reopened. */
  opened(thread: CommittingThreadHandle, { highestNumber, damagedRuns, unfinished }: OpenResult): void {
    this.#highestNumber = highestNumber
    this.active.clear()
    this.damage.opened(damagedRuns, thread.warnings, thread.lost)
    this.damage.unreadable(unfinished.unreadable)
    for (const { number, stored, idempotency } of unfinished.runs) {
      // No lease: the lock proves that its holder is dead.
      const active = ActiveRun.loaded(number, stored, idempotency)
      if (stored.damage === undefined) {
        this.active.add(active)
        continue
      }
      this.active.hold(active)
      this.#quarantineForGood({ number, id: stored.run.id, damage: stored.damage })
    }
  }

  /** For a run that is created. */
  newNumber(): number {
    return ++this.#highestNumber
  }

  async get(id: string): Promise<StoredRun | undefined> {
    this.#connection.assertReadable()
    const active = this.active.get(id)
    if (active !== undefined) return active.view()
    const found = this.#quarantineIfDamaged(await this.#connection.request('run', id))
    return found && this.latest(found.stored)
  }

  async byKey(owner: string, key: string): Promise<KeyedRun | undefined> {
    return this.creating(owner, key) ?? this.#toKeyedRun(await this.#connection.request('runByKey', owner, key))
  }

  async list(query: RunQuery): Promise<StoredRunPage> {
    const found = await this.#connection.request('runs', { ...query, limit: query.limit + 1 })
    for (const run of found.runs) this.#quarantineIfDamaged(run)
    const page = found.runs.slice(0, query.limit)
    return {
      runs: page.flatMap(({ stored }) => (this.#isAnnounced(stored.run.id) ? [this.latest(stored)] : [])),
      ...(found.runs.length > query.limit && { cursor: cursorOf(page.at(-1)!.stored.run) }),
      ...(found.unreadable > 0 && { unreadable: found.unreadable }),
    }
  }

  async read(id: string, after: number, maxBytes: number): Promise<Slice | undefined> {
    this.#connection.assertReadable()
    const active = this.active.get(id)
    const stored = active?.view()
    if (active !== undefined && stored === undefined) throw runNotFound(id)
    const known = active && headOf({ number: active.number, stored: stored! })
    if (known !== undefined) assertPageIn(id, known, after)
    if (after + 1 === known?.next) return undefined
    const tail = active?.tail
    if (tail === undefined || tail.isEmpty || after + 1 < tail.first) return this.#page({ id, after, maxBytes, known })
    return pageOf(known!, sliceWithin(sliceBefore(tail.after(after), known!.next), maxBytes))
  }

  /** Reads a page from the file. */
  async #page(request: PageRequest): Promise<Slice | undefined> {
    const { id, after } = request
    const { head, slice, found } = await this.#connection.request('page', request)
    if (head === undefined) throw runNotFound(id)
    if (head.isNewlyLost) this.#quarantineForGood({ number: head.number, id, damage: head.damage! })
    assertPageIn(id, head, after)
    if (found === undefined) return slice && pageOf(head, slice)
    const { damage, isLasting } = found
    if (isLasting) this.#quarantineForGood({ number: head.number, id, damage })
    else this.quarantine({ number: head.number, id, damage })
    throw damageError(id, damage)
  }

  /** Finds the run that already has a new run's idempotency key. Throws if the new run's id exists. */
  async checkCreation({ id, owner }: Run, key: string | undefined): Promise<KeyedRun | undefined> {
    const { isTaken, known } = await this.#connection.request('checkCreation', id, owner, key)
    if (isTaken || (known === undefined && this.active.get(id) !== undefined)) throw idInUse(id)
    return this.#toKeyedRun(known)
  }

  /** Finds a run among those whose creation is not durable yet. */
  creating(owner: string, key: string): KeyedRun | undefined {
    for (const active of this.#connection.commits.creating()) {
      if (active.run.owner !== owner || active.idempotency?.key !== key) continue
      return { fingerprint: active.idempotency.fingerprint, stored: () => active.wait().then(() => active.view()!) }
    }
    return undefined
  }

  /** Loads a run into memory for a change. Call it under the run's mutex. */
  async load(id: string): Promise<ActiveRun | undefined> {
    const known = this.active.get(id)
    if (known !== undefined) return known
    const found = await this.#connection.request('run', id)
    this.#connection.assertHealthy()
    if (found === undefined) return undefined
    const active = ActiveRun.loaded(found.number, this.#asFound(found.stored), found.idempotency)
    this.active.hold(active)
    return active
  }

  /** A finished run whose records are all in segments is served from the file. */
  forget(active: ActiveRun): void {
    if (active.finished && active.tail.isEmpty && active.pending === 0) this.active.delete(active)
  }

  /**
   * The file may have the row of a run whose creation the committing thread has not reported yet. Until it does, `get` and `read`
   * do not know the run, so a listing must not show it.
   */
  #isAnnounced(id: string): boolean {
    const active = this.active.get(id)
    return active === undefined || active.view() !== undefined
  }

  /** The in-memory state of a run that was read from the file, if there is one; otherwise what was read. */
  latest(stored: StoredRun): StoredRun {
    return this.active.get(stored.run.id)?.view() ?? this.#asFound(stored)
  }

  /** Not all damage is recorded in the file. */
  #asFound(stored: StoredRun): StoredRun {
    const damage = stored.damage ?? this.damage.of(stored.run.id)
    return damage === undefined ? stored : { ...stored, damage }
  }

  /** Quarantines a run: it is neither read nor claimed from now on. */
  quarantine({ id, damage }: QuarantinedRun): void {
    this.damage.found(id, damage)
    const active = this.active.get(id)
    if (active === undefined) return
    active.quarantine(damage)
    this.active.quarantine(active)
    this.#onQuarantined(active)
  }

  /** Also records the damage in the file, so that it survives a restart. */
  #quarantineForGood(found: QuarantinedRun): void {
    this.quarantine(found)
    const { isFailed, commits } = this.#connection
    if (!isFailed) void commits.quarantine(found).catch(() => {}) // it will be found again
  }

  /** Quarantines a run with a damaged row, once. */
  #quarantineIfDamaged<Row extends NumberedRun | undefined>(found: Row): Row {
    if (found?.isLost && !found.isMarked && this.damage.of(found.stored.run.id) === undefined)
      this.#quarantineForGood({ number: found.number, id: found.stored.run.id, damage: found.stored.damage! })
    return found
  }

  #toKeyedRun(found: NumberedRun | undefined): KeyedRun | undefined {
    if (found === undefined) return undefined
    const { id } = found.stored.run
    const stored = async (): Promise<StoredRun> => {
      if (!this.#isAnnounced(id)) await this.active.get(id)!.wait()
      return this.latest(found.stored)
    }
    return { fingerprint: found.idempotency!.fingerprint, stored }
  }
}

function assertPageIn(id: string, { first, next, damage }: LogHead, after: number): void {
  if (damage !== undefined) throw damageError(id, damage)
  assertReadable({ run: { id }, first, next }, after)
}

function pageOf({ isFinished: ended, next }: LogHead, slice: Slice): Slice {
  return { ...slice, closed: ended && lastOf(slice) === next - 1 }
}
