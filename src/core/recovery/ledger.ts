/**
 * The recorded work of a run, and which of it the code has requested again. A request matches the record of the same kind, name,
 * scope and input, so that each result reaches its own call, in whatever order parallel branches execute (RUN-5).
 */
import { shareEventLoop } from '../runtime/share-event-loop.ts'
import { prefixOf, type WorkIdentity, type WorkKind, type WorkRecord, workRef } from './recorded-work.ts'

/** Records between two checks of the clock. */
const SHARED_EVERY = 16

export class Ledger {
  readonly #byRef = new Map<string, WorkRecord>()
  /** Records by identity, and how many of each have been taken. */
  readonly #alike = new Map<string, TwinRecords>()
  /** Sleeps by identity without their length, which may vary between attempts. */
  readonly #sleeps = new Map<string, TwinRecords>()
  readonly #taken = new Set<WorkRecord>()
  readonly #below = new Map<string, WorkRecord[]>()
  /** Records that the code has not requested yet, and that new work waits for. */
  readonly #missing = new Set<WorkRecord>()
  /** Records that were ever missing, in log order. */
  readonly #awaited: WorkRecord[] = []
  /** References of work nested in completed work. */
  readonly #covered = new Set<string>()
  readonly #used: Set<string>
  #total = 0
  #calls = 0
  #hasLegacy = false
  readonly #counts = new Map<string, number>()
  readonly #listeners = new Set<() => void>()
  #changes = 0

  /** `reserved`: references that other work must not get, although no record of them is left. */
  constructor(reserved: Iterable<string> = []) {
    this.#used = new Set(reserved)
  }

  /** Builds a ledger from records in log order, in slices of the event loop. */
  static async of(records: Iterable<WorkRecord>, reserved: Iterable<string>): Promise<Ledger> {
    const ledger = new Ledger(reserved)
    let added = 0
    for (const record of records) {
      ledger.#add(record)
      if (++added % SHARED_EVERY === 0) await shareEventLoop()
    }
    return ledger
  }

  /** Number of steps, tools, calls and questions, including earlier attempts. */
  get total(): number {
    return this.#total
  }

  /** Number of component calls, including earlier attempts. */
  get calls(): number {
    return this.#calls
  }

  /** Whether the log has records in the older format, which do not name the enclosing work. */
  get hasLegacy(): boolean {
    return this.#hasLegacy
  }

  #add(record: WorkRecord): void {
    const { within } = record
    const ref = workRef(record.kind, record.key)
    this.#byRef.set(ref, record)
    this.#use(record.kind, ref)
    if (within === undefined) {
      this.#hasLegacy = true
      return
    }
    const identity = identityOf(record)
    addTwin(this.#alike, identityText(identity), record)
    if (record.kind === 'sleep') addTwin(this.#sleeps, identityText({ ...identity, digest: undefined }), record)
    // Code that requests completed work does not request the work below it.
    const around = this.#byRef.get(within)
    if (around !== undefined && (around.outcome.state !== 'started' || this.#covered.has(within)))
      this.#covered.add(ref)
    else this.#await(record, within)
  }

  #use(kind: WorkKind, ref: string): void {
    this.#used.add(ref)
    if (kind !== 'sleep') this.#total++
    if (kind === 'actor') this.#calls++
  }

  #await(record: WorkRecord, within: string): void {
    push(this.#below, within, record)
    if (!record.awaited) return
    this.#missing.add(record)
    this.#awaited.push(record)
  }

  /**
   * Takes the record that matches a request. `counted`: the key of the request by name and number, the only identity in older logs.
   * A sleep of a different length takes the oldest remaining sleep: sleeping again, or treating it as new work, would be worse.
   */
  take(requested: WorkIdentity, counted: string): WorkRecord | undefined {
    const legacy = this.#byRef.get(workRef(requested.kind, counted))
    if (legacy !== undefined && legacy.within === undefined) return legacy
    const record = this.#next(this.#alike.get(identityText(requested))) ?? this.#next(this.#otherSleeps(requested))
    if (record === undefined) return undefined
    this.#taken.add(record)
    this.#consume(record)
    this.#changed()
    return record
  }

  /**
   * Whether the log has such work but equal requests have taken all of it. If parallel branches execute in another order, this may
   * be the recorded request.
   */
  isRepeat(requested: WorkIdentity): boolean {
    const alike = this.#otherSleeps(requested) ?? this.#alike.get(identityText(requested))
    return alike !== undefined && this.#next(alike) === undefined
  }

  #otherSleeps(requested: WorkIdentity): TwinRecords | undefined {
    return requested.kind === 'sleep' ? this.#sleeps.get(identityText({ ...requested, digest: undefined })) : undefined
  }

  /** The oldest record that was not taken yet. */
  #next(alike: TwinRecords | undefined): WorkRecord | undefined {
    if (alike === undefined) return undefined
    while (alike.taken < alike.records.length && this.#taken.has(alike.records[alike.taken]!)) alike.taken++
    return alike.records[alike.taken]
  }

  /** A record by its key. Does not count as a request. */
  get(kind: WorkKind, key: string): WorkRecord | undefined {
    return this.#byRef.get(workRef(kind, key))
  }

  /** A key that no work of the run has or had. */
  newKey(kind: WorkKind, base: string): string {
    const counted = workRef(kind, base)
    for (let count = (this.#counts.get(counted) ?? 0) + 1; ; count++) {
      const key = count === 1 ? base : `${base}#${count}`
      const ref = workRef(kind, key)
      if (this.#used.has(ref)) continue
      this.#counts.set(counted, count)
      this.#use(kind, ref)
      return key
    }
  }

  /** Whether the log has work that the code has not requested again. */
  get isBehind(): boolean {
    return this.#missing.size > 0
  }

  /**
   * Returns a function that finds the first matching record that was not requested again. All its calls together visit each record
   * about once.
   */
  firstMissing(among?: (record: WorkRecord) => boolean): () => WorkRecord | undefined {
    const records = among === undefined ? this.#awaited : [...this.#missing].filter(among)
    let at = 0
    return () => {
      while (at < records.length && !this.#missing.has(records[at]!)) at++
      return records[at]
    }
  }

  /** Whether a record is nested in some work, at any depth. */
  isBelow(record: WorkRecord, ref: string): boolean {
    for (let { within } = record; within !== undefined && within !== '';) {
      if (within === ref) return true
      within = this.#byRef.get(within)?.within
    }
    return false
  }

  /** Marks a record as skipped by the code: nothing waits for it any more. */
  pass(record: WorkRecord): void {
    this.#consume(record)
    this.#changed()
  }

  /** Marks the work as ended: recorded work nested in it will not be requested again. */
  passBelow(ref: string): void {
    this.#consumeBelow(ref)
    this.#changed()
  }

  /** Stops waiting for recorded work: the owner chose to continue after a divergence. */
  passAll(): void {
    this.#missing.clear()
    this.#changed()
  }

  /** Incremented with every record that was requested. */
  get changes(): number {
    return this.#changes
  }

  /** Calls the listener whenever a record was requested, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #consume(record: WorkRecord): void {
    this.#missing.delete(record)
  }

  #consumeBelow(ref: string): void {
    const refs = [ref]
    for (let around = refs.pop(); around !== undefined && this.#missing.size > 0; around = refs.pop()) {
      for (const record of this.#below.get(around) ?? []) {
        this.#consume(record)
        refs.push(workRef(record.kind, record.key))
      }
    }
  }

  #changed(): void {
    this.#changes++
    for (const listener of this.#listeners) listener()
  }
}

/** Records that only their order distinguishes. */
interface TwinRecords {
  readonly records: WorkRecord[]
  /** All records before this one have been taken. */
  taken: number
}

function addTwin(lists: Map<string, TwinRecords>, identity: string, record: WorkRecord): void {
  const alike = lists.get(identity)
  if (alike === undefined) lists.set(identity, { records: [record], taken: 0 })
  else alike.records.push(record)
}

function identityOf({ kind, key, name, within, digest }: WorkRecord): WorkIdentity {
  return { kind, name, prefix: prefixOf(key), within: within!, digest }
}

export function identityText({ kind, name, prefix, within, digest = '' }: WorkIdentity): string {
  return JSON.stringify([kind, prefix, within, digest, name])
}

function push<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}
