/** Result of one sweep, for the log and `holdfast gc`. */
import type { Logger } from '../../core/ports/logger.ts'
import type { Run } from '../../core/model/run.ts'

/** Maximum run ids per log line. */
const IDS_MAX = 20

export class SweepReport {
  readonly #trimmed = new RunTally()
  readonly #removed = new RunTally()
  readonly #overshare: { readonly owner: string; readonly bytes: number }[] = []
  documents = 0

  get trimmed(): number {
    return this.#trimmed.runs
  }

  get removed(): number {
    return this.#removed.runs
  }

  trimmedRun(run: Run, events: number): void {
    this.#trimmed.add(run, events)
  }

  removedRun(run: Run, documents: number): void {
    this.#removed.add(run, 0)
    this.documents += documents
  }

  /** The owner exceeds its share, but none of its data may be removed. */
  overshare(owner: string, bytes: number): void {
    if (this.#overshare.length < IDS_MAX) this.#overshare.push({ owner, bytes })
  }

  log(logger: Logger): void {
    if (this.trimmed > 0) {
      const { runs, events, finished, ids } = this.#trimmed
      logger.info({ runs, events, finished, ids }, 'trimmed finished runs')
    }
    if (this.removed > 0 || this.documents > 0) {
      const { runs, finished, ids } = this.#removed
      logger.info({ runs, documents: this.documents, finished, ids }, 'removed finished runs and documents')
    }
    for (const { owner, bytes } of this.#overshare)
      logger.warn(
        { owner, bytes },
        'principal exceeds its share of the store: only finished runs and idle sessions can be removed',
      )
  }
}

class RunTally {
  readonly ids: string[] = []
  runs = 0
  events = 0
  #first: string | undefined
  #last: string | undefined

  get finished(): { readonly first: string | undefined; readonly last: string | undefined } {
    return { first: this.#first, last: this.#last }
  }

  add({ id, finishedAt = '' }: Run, events: number): void {
    this.runs++
    this.events += events
    if (this.ids.length < IDS_MAX) this.ids.push(id)
    if (this.#first === undefined || finishedAt < this.#first) this.#first = finishedAt
    if (this.#last === undefined || finishedAt > this.#last) this.#last = finishedAt
  }
}
