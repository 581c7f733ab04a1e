/**
 * Time that the sweeps for unverified callers have observed, on any node. The store keeps the sum, so neither a restart nor a step of the
 * wall clock changes an age.
 */
import type { Document, Documents } from '../model/document.ts'
import { type Clock, elapsedOf } from '../ports/clock.ts'

/** No principal has an owner key with a bare percent sign. */
const ABOUT = { owner: '%holdfast', collection: 'time', id: 'unverified-callers' }

export class SweptTime {
  readonly #documents: Documents
  readonly #clock: Clock
  #last: { readonly version: number; readonly elapsed: number } | undefined

  constructor(documents: Documents, clock: Clock) {
    this.#documents = documents
    this.#clock = clock
  }

  /** The observed milliseconds. */
  async read(): Promise<number> {
    return millisecondsIn(await this.#known())
  }

  /** Adds the time since the last call on this node, unless another node has added it, and resolves with the sum. */
  async advance(): Promise<number> {
    const elapsed = elapsedOf(this.#clock)
    const known = await this.#known()
    const version = known?.version ?? 0
    const before = millisecondsIn(known)
    const passed = this.#last?.version === version ? elapsed - this.#last.elapsed : 0
    const isNews = known === undefined || passed > 0
    const put = isNews && (await this.#documents.put({ ...ABOUT, body: { milliseconds: before + passed } }, version))
    // If another node was faster, its observation is enough.
    this.#last = { version: put ? put.version : version, elapsed }
    return put ? before + passed : before
  }

  #known(): Promise<Document | undefined> {
    return this.#documents.get(ABOUT.owner, ABOUT.collection, ABOUT.id)
  }
}

function millisecondsIn(document: Document | undefined): number {
  const { milliseconds } = (document?.body ?? {}) as { readonly milliseconds?: number }
  return milliseconds ?? 0
}
