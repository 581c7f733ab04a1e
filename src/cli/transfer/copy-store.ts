/** Copies everything from one store to another and verifies the result. */
import type { Document } from '../../core/model/document.ts'
import { isHoldfastError, detailOf } from '../../core/model/errors.ts'
import type { TransferredRun } from '../../core/ports/store-transfer.ts'
import { isFinished, type RunStatus } from '../../core/model/run.ts'
import type { Store } from '../../core/ports/store.ts'
import { copyRun } from './copy-run.ts'
import { canonical, digestOf } from './digest.ts'

/** A run or document that differs and was left unchanged. */
export interface Mismatch {
  readonly run?: string
  readonly document?: string
  readonly problem: string
}

export interface CopyReport {
  /** `present`: the target already had an identical one. */
  readonly documents: { copied: number; present: number }
  readonly runs: { copied: number; continued: number; present: number }
  /** Unfinished runs by status, which continue in the target. */
  readonly unfinished: Partial<Record<RunStatus, number>>
  events: number
  mismatched: number
  /** The first few. */
  readonly mismatches: Mismatch[]
}

const PAGE = 100
/** Finished runs copied concurrently, because copying mostly waits for the disk. */
const WIDTH = 8
const MISMATCHES_MAX = 100

/** `progress` is called after each page with the report so far. */
export async function copyStore(from: Store, to: Store, progress: (report: CopyReport) => void): Promise<CopyReport> {
  const copy = new Copy(from, to)
  // Documents first, so that every copied run has its session.
  for await (const documents of pages((after: Document | undefined) => from.transfer.documents(PAGE, after))) {
    await atOnce(documents, (document) => copy.document(document))
    progress(copy.report)
  }
  for await (const runs of pages((after: TransferredRun | undefined) => from.transfer.runs(PAGE, after?.stored.run))) {
    await atOnce(
      runs.filter(({ stored }) => isFinished(stored.run.status)),
      (kept) => copy.run(kept),
    )
    // Sequentially: the order of arrival is the order in which a lane is served.
    for (const kept of runs) if (!isFinished(kept.stored.run.status)) await copy.run(kept)
    progress(copy.report)
  }
  return copy.report
}

class Copy {
  readonly report: CopyReport = {
    documents: { copied: 0, present: 0 },
    runs: { copied: 0, continued: 0, present: 0 },
    unfinished: {},
    events: 0,
    mismatched: 0,
    mismatches: [],
  }
  readonly #from: Store
  readonly #to: Store

  constructor(from: Store, to: Store) {
    this.#from = from
    this.#to = to
  }

  async document(document: Document): Promise<void> {
    const { owner, collection, id } = document
    let admitted: boolean
    try {
      admitted = await this.#to.transfer.admitDocument(document)
    } catch (cause) {
      if (!isAboutOne(cause)) throw cause
      return this.#differs({ document: `${collection}/${id}`, problem: detailOf(cause) })
    }
    const there = await this.#to.documents.get(owner, collection, id)
    if (canonical(there) === canonical(document)) this.report.documents[admitted ? 'copied' : 'present']++
    else
      this.#differs({ document: `${collection}/${id}`, problem: 'the target has a different document with this name' })
  }

  async run(kept: TransferredRun): Promise<void> {
    const { run, first, next } = kept.stored
    try {
      const outcome = await copyRun(this.#from, this.#to, kept)
      const problem = await this.#problemOf(kept)
      if (problem !== undefined) return this.#differs({ run: run.id, problem })
      this.report.runs[outcome]++
      this.report.events += next - first
      if (!isFinished(run.status)) this.report.unfinished[run.status] = (this.report.unfinished[run.status] ?? 0) + 1
    } catch (cause) {
      if (!isAboutOne(cause)) throw cause
      this.#differs({ run: run.id, problem: detailOf(cause) })
    }
  }

  /** Compares the digests, even if nothing was copied. */
  async #problemOf(kept: TransferredRun): Promise<string | undefined> {
    const { id, owner } = kept.stored.run
    const there = await this.#to.get(id)
    if (there === undefined) return 'it is missing in the target'
    const found = kept.idempotency && (await this.#to.findByKey(owner, kept.idempotency.key))
    const idempotency = kept.idempotency && found && { key: kept.idempotency.key, fingerprint: found.fingerprint }
    const copy: TransferredRun = { stored: there, ...(idempotency && { idempotency }) }
    if (found !== undefined && found.stored.run.id !== id) return 'another run in the target has its idempotency key'
    if ((await digestOf(this.#to, copy)) !== (await digestOf(this.#from, kept)))
      return 'the target has a different run with this id'
    const now = await this.#from.get(id)
    return now?.next === kept.stored.next && now.epoch === kept.stored.epoch ? undefined : 'it changed during the copy'
  }

  #differs(mismatch: Mismatch): void {
    this.report.mismatched++
    if (this.report.mismatches.length < MISMATCHES_MAX) this.report.mismatches.push(mismatch)
  }
}

/** Whether an error concerns only one run: it is reported and the copy continues. A failing store ends the copy. */
function isAboutOne(cause: unknown): boolean {
  return isHoldfastError(cause) && cause.code !== 'unavailable' && cause.code !== 'internal'
}

async function* pages<Item>(
  next: (after: Item | undefined) => Promise<readonly Item[]>,
): AsyncGenerator<readonly Item[]> {
  for (let after: Item | undefined; ;) {
    const page = await next(after)
    if (page.length === 0) return
    yield page
    after = page.at(-1)
  }
}

async function atOnce<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const queue = items.values()
  const workers = Array.from({ length: WIDTH }, async () => {
    for (const item of queue) await work(item)
  })
  await Promise.all(workers)
}
