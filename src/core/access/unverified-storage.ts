/**
 * What callers store before an upstream has accepted their credential. Such a caller may be invented, so a document in the store marks
 * it: what it stores counts for its network, and is removed unless an upstream accepts the credential in time.
 */
import type { Document, Documents } from '../model/document.ts'
import { HoldfastError } from '../model/errors.ts'
import { DOCUMENT_BYTES } from '../model/storage-usage.ts'
import { type Clock, elapsedOf } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'

/** Owner of the marks. No principal's owner key contains a bare percent sign. */
const MARKS_OWNER = '%holdfast'
/** Collection of the marks. The id is the owner that is marked, the label its network. */
const MARKS = 'unverified-caller'

/** Maximum bytes that the unverified callers of one network store. */
export const NETWORK_BYTES_MAX = 16 * 1024 * 1024
/** Maximum bytes that all unverified callers store. */
const TOTAL_BYTES_MAX = 1024 * 1024 * 1024
/** How long the sums of this node are used before they are read from the store again. */
const SUMS_MS = 60_000
/** Retry delay sent to the client. */
const RETRY_MS = 60_000
const PAGE = 200
const MARK_TRIES_MAX = 10

/** The mark of an unverified caller. */
export interface UnverifiedMark {
  readonly owner: string
  readonly network: string
  readonly bytes: number
  /** Collections that the caller has written to. */
  readonly collections: readonly string[]
  /** Nothing more may be stored: it will be removed. */
  readonly isClosed: boolean
  readonly version: number
}

export interface UnverifiedWrite {
  readonly owner: string
  /** Undefined: the network is not known. */
  readonly network: string | undefined
  readonly bytes: number
  /** The collections of documents that it writes. */
  readonly collections: readonly string[]
}

interface Sums {
  readonly readAt: number
  readonly byNetwork: Map<string, number>
  total: number
}

export class UnverifiedStorage {
  readonly #store: Pick<Store, 'usage'>
  readonly #documents: Documents
  readonly #clock: Clock
  #sums: Promise<Sums> | undefined

  constructor(store: Pick<Store, 'documents' | 'usage'>, clock: Clock) {
    this.#store = store
    this.#documents = store.documents
    this.#clock = clock
  }

  /** Call before an unverified caller stores anything. Throws `rate_limited` if its network has stored too much. */
  async admit({ owner, network = '', bytes, collections }: UnverifiedWrite): Promise<void> {
    for (let tries = 0; tries < MARK_TRIES_MAX; tries++) {
      const mark = await this.#markOf(owner)
      if (mark === undefined && (await this.#wasAccepted(owner))) return
      if (mark?.isClosed === true) throw refused('no upstream has accepted your credential in time')
      const sums = await this.#current()
      if ((sums.byNetwork.get(network) ?? 0) >= NETWORK_BYTES_MAX || sums.total >= TOTAL_BYTES_MAX)
        throw refused('too much is stored from your address with credentials that no upstream has accepted')
      const added = bytes + (mark === undefined ? DOCUMENT_BYTES : 0)
      const draft = {
        owner,
        network: mark?.network ?? network,
        bytes: (mark?.bytes ?? 0) + added,
        collections: [...new Set([...(mark?.collections ?? []), ...collections])],
        isClosed: false,
      }
      if (!(await this.#put(draft, mark?.version ?? 0))) continue // another request was faster
      sums.byNetwork.set(network, (sums.byNetwork.get(network) ?? 0) + added)
      sums.total += added
      return
    }
    throw refused('too many requests store something with your credential at once')
  }

  /** What the owner stores is its own from now on: an upstream has accepted the credential, or nothing is left. */
  async unmark(owner: string): Promise<void> {
    await this.#documents.remove(MARKS_OWNER, MARKS, owner)
  }

  /** Forbids further writes. Returns false if the mark has changed meanwhile. */
  close(mark: UnverifiedMark): Promise<boolean> {
    return this.#put({ ...mark, isClosed: true }, mark.version)
  }

  /** All marks, by pages. */
  async *marks(): AsyncGenerator<UnverifiedMark> {
    const query = { collection: MARKS, owner: MARKS_OWNER, ascending: true, limit: PAGE } as const
    let page = await this.#documents.list(query)
    for (;;) {
      yield* page.documents.map(markIn)
      if (page.next === undefined) return
      page = await this.#documents.list({ ...query, after: page.next })
    }
  }

  /** An owner that has something without a mark was accepted, by this node or another. */
  async #wasAccepted(owner: string): Promise<boolean> {
    const { runs, documents } = await this.#store.usage.of(owner)
    // The mark comes before everything else, so look again for one that was written meanwhile.
    return runs + documents > 0 && (await this.#markOf(owner)) === undefined
  }

  async #markOf(owner: string): Promise<UnverifiedMark | undefined> {
    const document = await this.#documents.get(MARKS_OWNER, MARKS, owner)
    return document && markIn(document)
  }

  async #put({ owner, network, bytes, collections, isClosed }: Omit<UnverifiedMark, 'version'>, expected: number) {
    const body = { bytes, collections, isClosed }
    const draft = { owner: MARKS_OWNER, collection: MARKS, id: owner, label: network, body }
    return (await this.#documents.put(draft, expected)) !== undefined
  }

  async #current(): Promise<Sums> {
    const known = await this.#sums
    if (known !== undefined && elapsedOf(this.#clock) - known.readAt < SUMS_MS) return known
    const read = this.#readSums()
    this.#sums = read
    read.catch(() => (this.#sums = undefined))
    return read
  }

  async #readSums(): Promise<Sums> {
    const sums: Sums = { readAt: elapsedOf(this.#clock), byNetwork: new Map(), total: 0 }
    for await (const { network, bytes } of this.marks()) {
      sums.byNetwork.set(network, (sums.byNetwork.get(network) ?? 0) + bytes)
      sums.total += bytes
    }
    return sums
  }
}

function markIn({ id: owner, label: network = '', body, version }: Document): UnverifiedMark {
  const { bytes, collections, isClosed } = body as Pick<UnverifiedMark, 'bytes' | 'collections' | 'isClosed'>
  return { owner, network, bytes, collections, isClosed, version }
}

function refused(why: string): HoldfastError {
  return new HoldfastError('rate_limited', `${why}: try again later`, { retryAfterMs: RETRY_MS })
}
