/**
 * Group commit: a commit starts when the previous one ends, and takes everything accepted meanwhile. The number of events per
 * sync therefore adapts to the load, and a lone event waits only for its own tick of the event loop. A large batch is handed to the
 * thread in advance, so that the disk does not wait for its encoding. While the event loop is saturated, small commits are
 * delayed a little (`Pace`).
 */
import { storeUnavailable } from '../../../core/model/errors.ts'
import { type Slice, sliceAfter } from '../../../core/model/slice.ts'
import type { ActiveRun } from '../runs/active-run.ts'
import { type Batch, takeBatch } from './batch.ts'
import type { CommittingThreadHandle } from './committing-thread-handle.ts'
import type { DocumentAnswer, DocumentCommand } from './document-writes.ts'
import type { CommitFailure, CommitReply, CommitRequest, QuarantinedRun, RemovedRun } from './committing-messages.ts'
import { Pace } from './pace.ts'
import { damageError } from '../tables/quarantine.ts'

export interface CommitListener {
  /** A run's records, or only its row, became durable. */
  durable(active: ActiveRun, slice: Slice | undefined): void
  /** All durable records of a run are in segments. */
  idle(active: ActiveRun): void
  /** The committing thread found a damaged run. */
  quarantined(found: QuarantinedRun): void
  /** No further commits are accepted. */
  failed(failure: CommitFailure): void
}

/** A commit without a reply yet. */
interface CommitInFlight {
  readonly batch: Batch
  readonly controls: readonly Control[]
  readonly compact: CommitRequest['compact']
}

/** A command that belongs to no run, or that ends one. */
interface Control {
  readonly document?: DocumentCommand
  /** The run that it removes. */
  readonly removed?: ActiveRun
  readonly resolve: (answer: DocumentAnswer) => void
  readonly reject: (cause: unknown) => void
}

/** Characters of one commit. A larger batch would save nothing and delay its first event. */
const COMMIT_CHARS_MAX = 1024 * 1024
/** Minimum characters for handing over a commit while another is under way, or early. */
const ADVANCE_CHARS_MIN = 512 * 1024
/** Commits that the thread may have: the current one, and one in advance. */
const UNDER_WAY_MAX = 2
/** Idle time before full segments are compacted, and before everything is. */
const COMPACT_READY_MS = 25
const COMPACT_ALL_MS = 2000
/** Slices of pending deletions that closing performs: about 256 MiB. The next process continues. */
const CLOSING_SLICES_MAX = 64

export class GroupCommit {
  readonly #thread: CommittingThreadHandle
  readonly #listener: CommitListener
  readonly #waiting = new Set<ActiveRun>()
  #waitingChars = 0
  readonly #creating = new Set<ActiveRun>()
  /** Runs with records outside segments. */
  readonly #unsealed = new Map<number, ActiveRun>()
  #backlogBytes = 0
  #isDeleting: boolean
  #quarantined: QuarantinedRun[] = []
  #removed: RemovedRun[] = []
  #controls: Control[] = []
  /** Oldest first. */
  readonly #underWay: CommitInFlight[] = []
  #scheduled = false
  readonly #pace = new Pace()
  #startTimer: NodeJS.Timeout | undefined
  #compactTimer: NodeJS.Timeout | undefined
  #onQuiet: (() => void) | undefined
  failure: string | undefined

  constructor(thread: CommittingThreadHandle, listener: CommitListener) {
    this.#thread = thread
    this.#listener = listener
    this.#isDeleting = thread.isDeleting
    if (thread.isDeleting) this.#quiet(true, 'share')
  }

  /** Records were added to a run, or its row changed, or both. */
  appended(active: ActiveRun, chars: number, rowChanged: boolean): void {
    active.revise(rowChanged)
    this.#waiting.add(active)
    this.#waitingChars += chars
    this.#schedule()
  }

  /** A run's row changed; resolves when that is durable. */
  changed(active: ActiveRun): Promise<void> {
    const isNew = active.durable === undefined && !this.#creating.has(active)
    if (isNew) this.#creating.add(active)
    this.appended(active, isNew ? active.waitingChars : 0, true)
    return active.wait()
  }

  /** Also drops its pending writes, which would create the row again. Rejects if the database is damaged there. */
  async remove(active: ActiveRun): Promise<void> {
    active.remove()
    if (this.#waiting.delete(active)) this.#waitingChars -= active.waitingChars
    this.#removed.push({ number: active.number, isDamaged: active.damage !== undefined })
    if (this.#unsealed.delete(active.number)) this.#backlogBytes -= active.tail.byteLength
    await this.#control({ removed: active })
    active.settle()
  }

  /** Quarantines a damaged run permanently. */
  async quarantine(found: QuarantinedRun): Promise<void> {
    this.#quarantined.push(found)
    await this.#control()
  }

  /** Resolves with the thread's decision when it is durable. */
  document(document: DocumentCommand): Promise<DocumentAnswer> {
    return this.#control({ document })
  }

  /** Bytes of durable records that are not in segments yet, and so are held in memory. */
  get backlogBytes(): number {
    return this.#backlogBytes
  }

  /** Runs whose creation is not durable yet. */
  creating(): Iterable<ActiveRun> {
    return this.#creating
  }

  /** Rejects waiting commands because the disk stalls. Their effects may still become durable. */
  stall(cause: unknown): void {
    for (const { controls } of [...this.#underWay, { controls: this.#controls }])
      for (const { reject } of controls) reject(cause)
  }

  /** Writes pending changes, compacts everything and ends the thread. */
  async close(): Promise<void> {
    clearTimeout(this.#compactTimer)
    while (this.failure === undefined && (this.#underWay.length > 0 || this.#hasWork())) {
      this.#start()
      await new Promise<void>((resolve) => (this.#onQuiet = resolve))
    }
    for (let before = Infinity; this.failure === undefined && this.#backlogBytes < before;) {
      before = this.#backlogBytes
      this.#compact('all')
      await new Promise<void>((resolve) => (this.#onQuiet = resolve))
    }
    for (let slices = 0; this.failure === undefined && slices < CLOSING_SLICES_MAX; slices++) {
      if (!this.#isDeleting) break
      this.#compact('ready')
      await new Promise<void>((resolve) => (this.#onQuiet = resolve))
    }
    this.failure ??= 'the store is closed'
    clearTimeout(this.#compactTimer)
    await this.#thread.close()
  }

  /** After a failure: abandons the thread. */
  async abandon(): Promise<void> {
    clearTimeout(this.#compactTimer)
    await this.#thread.close()
  }

  #control(command: Pick<Control, 'document' | 'removed'> = {}): Promise<DocumentAnswer> {
    return new Promise((resolve, reject) => {
      this.#controls.push({ ...command, resolve, reject })
      this.#schedule()
    })
  }

  #hasWork(): boolean {
    return this.#waiting.size > 0 || this.#controls.length > 0
  }

  /** Whether the thread can take a commit now. */
  get #canStart(): boolean {
    if (this.#underWay.length === 0) return true
    return this.#underWay.length < UNDER_WAY_MAX && this.#isLarge
  }

  /** Whether a batch is so large that waiting gains nothing. */
  get #isLarge(): boolean {
    return this.#waitingChars >= ADVANCE_CHARS_MIN
  }

  #schedule(): void {
    if (this.#scheduled || !this.#canStart || (this.#startTimer !== undefined && !this.#isLarge)) return
    this.#scheduled = true
    // Deferred, so that everything accepted in this tick of the event loop joins.
    setImmediate(() => {
      this.#scheduled = false
      this.#startNextCommit()
    })
  }

  #startNextCommit(): void {
    const wait = this.#isLarge ? 0 : this.#pace.wait()
    if (wait < 1) return this.#start()
    this.#startTimer ??= setTimeout(() => this.#start(), wait)
  }

  #start(): void {
    clearTimeout(this.#startTimer)
    this.#startTimer = undefined
    if (!this.#canStart || this.failure !== undefined || !this.#hasWork()) return
    clearTimeout(this.#compactTimer)
    this.#pace.started()
    const batch = takeBatch(this.#waiting, COMMIT_CHARS_MAX)
    this.#waitingChars -= batch.chars
    const { data, directory, rows, ended, trimmed } = batch
    this.#commit(batch, {
      data,
      directory,
      rows,
      ended,
      trimmed,
      quarantined: this.#quarantined,
      removed: this.#removed,
      documents: this.#controls.flatMap(({ document }) => document ?? []),
      compact: 'share',
    })
  }

  #compact(compact: 'ready' | 'all'): void {
    const nothing: Batch = {
      entries: [],
      chars: 0,
      data: new Uint8Array(0),
      directory: new Int32Array(0),
      rows: [],
      ended: [],
      trimmed: [],
    }
    this.#commit(nothing, { ...nothing, quarantined: [], removed: [], documents: [], compact })
  }

  #commit(batch: Batch, request: CommitRequest): void {
    this.#underWay.push({ batch, controls: this.#controls, compact: request.compact })
    this.#controls = []
    this.#quarantined = []
    this.#removed = []
    this.#thread.commit(request, (reply) => this.#ended(reply))
  }

  #ended(reply: CommitReply): void {
    const { batch, controls, compact } = this.#underWay.shift()!
    if (reply.kind === 'failed') return this.fail(reply, controls)
    if (reply.kind !== 'committed') throw new Error(`unexpected reply ${reply.kind} from the committing thread`)
    this.#startNextCommit() // before delivering this one, so that the disk is busy during the delivery
    this.#deliver(batch, sealedBefore(reply.sealed))
    const answers = reply.documents.values()
    for (const { document, removed, resolve, reject } of controls) {
      if (removed !== undefined && reply.unremovable.includes(removed.number)) this.#refuseRemoval(removed, reject)
      else resolve(document && answers.next().value)
    }
    for (const found of reply.quarantined) this.#listener.quarantined(found)
    this.#isDeleting = reply.isDeleting
    if (this.#underWay.length === 0) this.#quiet(reply.more, compact)
  }

  #refuseRemoval({ number, run, first, next }: ActiveRun, reject: Control['reject']): void {
    const damage = { first, last: next - 1, reason: 'cannot be removed: the database is damaged there' }
    this.#listener.quarantined({ number, id: run.id, damage })
    reject(damageError(run.id, damage))
  }

  #deliver(batch: Batch, sealed: ReadonlyMap<number, number>): void {
    this.#forgetSealed(sealed)
    for (const { active, revision, next, changed, slice } of batch.entries) {
      active.commit({ next, changed })
      this.#creating.delete(active)
      const sealedNext = sealed.get(active.number) ?? 0
      if (slice !== undefined && sealedNext < next && !active.isRemoved) {
        const rest = sliceAfter(slice, sealedNext - 1)
        active.tail.push(rest)
        this.#backlogBytes += rest.bytes.length
        this.#unsealed.set(active.number, active)
      }
      active.settle(revision)
      this.#listener.durable(active, slice)
    }
    for (const { active } of batch.entries) if (active.tail.isEmpty) this.#listener.idle(active)
  }

  /** Records in segments are read from there. */
  #forgetSealed(sealed: ReadonlyMap<number, number>): void {
    for (const [number, before] of sealed) {
      const active = this.#unsealed.get(number)
      if (active === undefined) continue
      this.#backlogBytes -= active.tail.byteLength
      active.tail.dropBefore(before)
      this.#backlogBytes += active.tail.byteLength
      if (!active.tail.isEmpty) continue
      this.#unsealed.delete(number)
      this.#listener.idle(active)
    }
  }

  /** Idle: soon compacts what is ready, later the rest. */
  #quiet(more: boolean, last: CommitRequest['compact']): void {
    const resolve = this.#onQuiet
    this.#onQuiet = undefined
    resolve?.()
    if ((this.#unsealed.size === 0 && !more) || this.failure !== undefined) return
    clearTimeout(this.#compactTimer)
    const compact = more && last !== 'all' ? 'ready' : 'all'
    this.#compactTimer = setTimeout(
      () => {
        // Requests of this tick go first: a compaction carries no commands.
        if (this.#underWay.length === 0 && this.failure === undefined && !this.#hasWork()) this.#compact(compact)
      },
      more ? COMPACT_READY_MS : COMPACT_ALL_MS,
    )
    this.#compactTimer.unref()
  }

  /** The thread accepts nothing more: drops pending changes and rejects their waits. */
  fail(failure: CommitFailure, controls: readonly Control[] = []): void {
    const { message } = failure
    this.failure = message
    const cause = storeUnavailable(`writes to the store fail: ${message}`)
    const inAdvance = this.#underWay.splice(0).flatMap((commit) => commit.controls)
    for (const control of [...controls, ...inAdvance, ...this.#controls]) control.reject(cause)
    this.#onQuiet?.()
    this.#listener.failed(failure)
  }
}

function sealedBefore(pairs: Int32Array): Map<number, number> {
  const sealed = new Map<number, number>()
  for (let at = 0; at < pairs.length; at += 2) sealed.set(pairs[at]!, pairs[at + 1]!)
  return sealed
}
