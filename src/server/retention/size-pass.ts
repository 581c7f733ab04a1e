/** Enforces the store's size limit: trims the largest owners to a common level, oldest data first. */
import { SESSIONS } from '../../core/model/document.ts'
import type { Position } from '../../core/model/page.ts'
import type { Store } from '../../core/ports/store.ts'
import { DOCUMENT_BYTES, type OwnerUsage, RUN_BYTES, storedBytes } from '../../core/model/storage-usage.ts'
import { fairLevel } from './fair-level.ts'
import { removeRun, removeStale, RUN_COLLECTIONS } from './run-documents.ts'
import type { SweepReport } from './sweep-report.ts'

/** Owners per pass. The next pass continues from there. */
const OWNERS_MAX = 1000
const PAGE = 50
/** Sorts after any document. */
const WHENEVER = '~'

export class SizePass {
  readonly #store: Store
  readonly #maxBytes: number
  readonly #isStopped: () => boolean
  /** Per owner: the position up to which runs were trimmed. */
  readonly #trimmed = new Map<string, Position>()

  constructor(store: Store, maxBytes: number, isStopped: () => boolean) {
    this.#store = store
    this.#maxBytes = maxBytes
    this.#isStopped = isStopped
  }

  async run(report: SweepReport): Promise<void> {
    const excess = (await this.#store.usage.total()) - this.#maxBytes
    if (excess <= 0) return
    const owners = await this.#store.usage.largest(OWNERS_MAX)
    const level = fairLevel(owners.map(storedBytes), excess)
    for (const usage of owners) {
      if (storedBytes(usage) <= level || this.#isStopped()) return
      await this.#lower(usage, level, report)
    }
  }

  /** Events first, then documents that no run needs, then runs with their keys and sessions. */
  async #lower({ owner, ...usage }: OwnerUsage, level: number, report: SweepReport): Promise<void> {
    const excess = new Excess(storedBytes(usage) - level, async () => {
      return storedBytes(await this.#store.usage.of(owner)) - level
    })
    await this.#trim(owner, this.#trimmed.get(owner), excess, report)
    // Again from the start, for runs that were unfinished when skipped.
    if (await excess.remains()) await this.#trim(owner, undefined, excess, report)
    for (const collection of [...RUN_COLLECTIONS, SESSIONS])
      await this.#removeDocuments(owner, collection, excess, report)
    await this.#removeRuns(owner, excess, report)
    if (!this.#isStopped() && (await excess.remains())) report.overshare(owner, await excess.measure())
  }

  async #trim(owner: string, from: Position | undefined, excess: Excess, report: SweepReport): Promise<void> {
    for (let after = from; ;) {
      const page = await this.#store.usage.finishedRuns(owner, PAGE, after)
      for (const { stored, bytes } of page) {
        if (this.#isStopped() || !(await excess.remains())) return
        const { run, first, next, damage } = stored
        after = { createdAt: run.createdAt, id: run.id }
        this.#note(owner, after)
        if (first === next - 1 || bytes === 0 || damage !== undefined) continue
        await this.#store.trim(run.id, next - 1)
        report.trimmedRun(run, next - 1 - first)
        excess.shrink((bytes * (next - 1 - first)) / (next - first))
      }
      if (page.length < PAGE) return
    }
  }

  async #removeDocuments(owner: string, collection: string, excess: Excess, report: SweepReport): Promise<void> {
    for (let offset = 0; ;) {
      if (this.#isStopped() || !(await excess.remains())) return
      const query = { owner, collection, order: 'updated', ascending: true, offset, limit: PAGE } as const
      const { documents } = await this.#store.documents.list(query)
      for (const document of documents) {
        if (!(await excess.remains())) return
        if (await removeStale(this.#store, document)) {
          report.documents++
          excess.shrink(DOCUMENT_BYTES + Buffer.byteLength(JSON.stringify(document.body)))
        } else offset++
      }
      if (documents.length < PAGE) return
    }
  }

  async #removeRuns(owner: string, excess: Excess, report: SweepReport): Promise<void> {
    for (let after: Position | undefined; ;) {
      if (this.#isStopped() || !(await excess.remains())) return
      const page = await this.#store.usage.finishedRuns(owner, PAGE, after)
      for (const { stored, bytes } of page) {
        if (!(await excess.remains())) return
        const { run, damage } = stored
        after = { createdAt: run.createdAt, id: run.id }
        if (damage !== undefined) continue
        const documents = await removeRun(this.#store, run, WHENEVER)
        report.removedRun(run, documents)
        excess.shrink(RUN_BYTES + bytes + documents * DOCUMENT_BYTES)
      }
      if (page.length < PAGE) return
    }
  }

  #note(owner: string, reached: Position): void {
    this.#trimmed.delete(owner)
    this.#trimmed.set(owner, reached)
    if (this.#trimmed.size > OWNERS_MAX) this.#trimmed.delete(this.#trimmed.keys().next().value!)
  }
}

/** An owner's excess bytes: estimated after each removal, and measured again when the estimate reaches zero. */
class Excess {
  #bytes: number
  readonly #measure: () => Promise<number>

  constructor(bytes: number, measure: () => Promise<number>) {
    this.#bytes = bytes
    this.#measure = measure
  }

  shrink(bytes: number): void {
    this.#bytes -= bytes
  }

  async remains(): Promise<boolean> {
    if (this.#bytes > 0) return true
    return (await this.measure()) > 0
  }

  async measure(): Promise<number> {
    return (this.#bytes = await this.#measure())
  }
}
