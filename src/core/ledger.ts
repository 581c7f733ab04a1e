/**
 * The work that a run's log has, and which of it the code has asked for again. A request is matched with the record of the same
 * kind, name, scope and input, so that a result reaches its own call in whatever order parallel branches come (RUN-5).
 */
import { prefixOf, type WorkIdentity, type WorkKind, type WorkRecord, workRef } from './work.ts'

export class Ledger {
  readonly #byRef = new Map<string, WorkRecord>()
  /** Records that nobody has been given yet, by identity; the oldest is the last of its list. */
  readonly #alike = new Map<string, WorkRecord[]>()
  readonly #below = new Map<string, WorkRecord[]>()
  /** Records that new work waits for, in the order of the log. */
  readonly #missing = new Set<WorkRecord>()
  readonly #used: Set<string>
  /** Whether there is work of a log that does not say what it was asked for with. */
  readonly hasLegacy: boolean
  readonly #counts = new Map<string, number>()
  readonly #listeners = new Set<() => void>()
  #changes = 0

  /** `reserved`: references of work that must not be given to other work, although no record of it is left. */
  constructor(records: Iterable<WorkRecord> = [], reserved: Iterable<string> = []) {
    this.#used = new Set(reserved)
    const all = [...records]
    this.hasLegacy = all.some(({ within }) => within === undefined)
    for (const record of all) this.#add(record)
    for (const record of all.toReversed())
      if (record.within !== undefined) push(this.#alike, identityOf(record), record)
  }

  #add(record: WorkRecord): void {
    const ref = workRef(record.kind, record.key)
    this.#byRef.set(ref, record)
    this.#used.add(ref)
    if (record.within === undefined) return
    push(this.#below, record.within, record)
    if (record.awaited) this.#missing.add(record)
  }

  /**
   * Takes the record of the work that is asked for. `counted` is the key that the request would have by its name and number:
   * older logs know their work by nothing else.
   */
  take(asked: WorkIdentity, counted: string): WorkRecord | undefined {
    const legacy = this.#byRef.get(workRef(asked.kind, counted))
    if (legacy !== undefined && legacy.within === undefined) return legacy
    const record = this.#alike.get(identityText(asked))?.pop()
    if (record !== undefined) this.#asked(record)
    return record
  }

  /**
   * The log has such work, and requests that are equal to this one were given all of it. In parallel branches that came in another
   * order, this may be the request that was recorded.
   */
  isRepeat(asked: WorkIdentity): boolean {
    return this.#alike.get(identityText(asked))?.length === 0
  }

  /** A record by its key; it does not count as asked for. */
  get(kind: WorkKind, key: string): WorkRecord | undefined {
    return this.#byRef.get(workRef(kind, key))
  }

  /** A key that no other work of the run has or had. */
  newKey(kind: WorkKind, base: string): string {
    const counted = workRef(kind, base)
    for (let count = (this.#counts.get(counted) ?? 0) + 1; ; count++) {
      const key = count === 1 ? base : `${base}#${count}`
      const ref = workRef(kind, key)
      if (this.#used.has(ref)) continue
      this.#counts.set(counted, count)
      this.#used.add(ref)
      return key
    }
  }

  /** Whether the log has work that the code has not asked for again. */
  get isBehind(): boolean {
    return this.#missing.size > 0
  }

  /** The first record that was not asked for again. */
  firstMissing(among: (record: WorkRecord) => boolean = () => true): WorkRecord | undefined {
    for (const record of this.#missing) if (among(record)) return record
    return undefined
  }

  /** Whether a record is below some work: within it, or within work that is. */
  isBelow(record: WorkRecord, ref: string): boolean {
    for (let { within } = record; within !== undefined && within !== '';) {
      if (within === ref) return true
      within = this.#byRef.get(within)?.within
    }
    return false
  }

  /** The code has passed this record by: nothing waits for it any more. */
  pass(record: WorkRecord): void {
    this.#settle(record)
    this.#changed()
  }

  /** The work has ended: what the log has below it is not asked for again. */
  passBelow(ref: string): void {
    this.#settleBelow(ref)
    this.#changed()
  }

  /** Somebody decided to go on whatever the log has: nothing of it is waited for any more. */
  passAll(): void {
    this.#missing.clear()
    this.#changed()
  }

  /** Grows with every record that was asked for. */
  get changes(): number {
    return this.#changes
  }

  /** Calls back whenever a record was asked for; until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #asked(record: WorkRecord): void {
    this.#settle(record)
    if (record.outcome.state !== 'begun') this.#settleBelow(workRef(record.kind, record.key))
    this.#changed()
  }

  #settle(record: WorkRecord): void {
    this.#missing.delete(record)
  }

  #settleBelow(ref: string): void {
    if (this.#missing.size === 0) return
    for (const record of this.#below.get(ref) ?? []) {
      this.#settle(record)
      this.#settleBelow(workRef(record.kind, record.key))
    }
  }

  #changed(): void {
    this.#changes++
    for (const listener of this.#listeners) listener()
  }
}

function identityOf({ kind, key, name, within, digest }: WorkRecord): string {
  return identityText({ kind, name, prefix: prefixOf(key), within: within!, digest })
}

export function identityText({ kind, name, prefix, within, digest = '' }: WorkIdentity): string {
  return JSON.stringify([kind, prefix, within, digest, name])
}

function push<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}
