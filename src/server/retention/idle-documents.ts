/** Removes sessions and run documents that no run references and that are idle for longer than their retention period. */
import type { DocumentName } from '../../core/ports/store-transfer.ts'
import { SESSIONS } from '../../core/model/document.ts'
import type { Store } from '../../core/ports/store.ts'
import type { RetentionPeriods } from './periods.ts'
import { removeStale } from './run-documents.ts'
import type { SweepReport } from './sweep-report.ts'

const PAGE = 100
/** Documents per sweep. The next sweep continues from there and wraps around. */
const DOCUMENTS_PER_SWEEP = 2000

export class IdleDocuments {
  readonly #store: Store
  readonly #periods: RetentionPeriods
  #reached: DocumentName | undefined

  constructor(store: Store, periods: RetentionPeriods) {
    this.#store = store
    this.#periods = periods
  }

  async run(now: number, report: SweepReport, isStopped: () => boolean): Promise<void> {
    for (let looked = 0; looked < DOCUMENTS_PER_SWEEP; looked += PAGE) {
      const page = await this.#store.transfer.documents(PAGE, this.#reached)
      for (const document of page) {
        if (isStopped()) return
        const { owner, collection, id, label, updatedAt } = document
        const keptMs = this.#periods.of(owner, collection === SESSIONS ? label : undefined)
        const isOld = Date.parse(updatedAt) < now - keptMs
        if (isOld && (await removeStale(this.#store, document))) report.documents++
        this.#reached = { owner, collection, id }
      }
      if (page.length === PAGE) continue
      this.#reached = undefined
      return
    }
  }
}
