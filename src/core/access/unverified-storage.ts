/**
 * What callers store before an upstream has accepted their credential. Such a caller may be invented, so a document in the store marks
 * it: what it stores counts for its network, and is removed unless an upstream accepts the credential in time.
 */
import type { Document, Documents } from '../model/document.ts'
import { HoldfastError } from '../model/errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'
import { shareEventLoop } from '../runtime/share-event-loop.ts'
import { SweptTime } from './swept-time.ts'
import { UnverifiedSums } from './unverified-sums.ts'

/** Owner of the marks. No principal's owner key contains a bare percent sign. */
const MARKS_OWNER = '%holdfast'
/** Collection of the marks. The id is the owner that is marked, the label its network. */
const MARKS = 'unverified-caller'

/**
 * Bytes charged per caller besides what it stores. Bounds the number of marks, which every node reads once per minute: 256 per network,
 * 16,384 in all.
 */
const CALLER_BYTES = 64 * 1024
/** Retry delay sent to the client. */
const RETRY_MS = 60_000
const PAGE = 1000
const MARK_TRIES_MAX = 10

/** The mark of an unverified caller. */
export interface UnverifiedMark {
  readonly owner: string
  readonly network: string
  readonly bytes: number
  /** Swept time of its first write. */
  readonly since: number
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

export class UnverifiedStorage {
  /** Time by which `since` of a mark is measured. */
  readonly time: SweptTime
  readonly #store: Pick<Store, 'usage'>
  readonly #documents: Documents
  readonly #sums: UnverifiedSums

  constructor(store: Pick<Store, 'documents' | 'usage'>, clock: Clock) {
    this.time = new SweptTime(store.documents, clock)
    this.#store = store
    this.#documents = store.documents
    this.#sums = new UnverifiedSums(() => this.marks(), clock)
  }

  /** Call before an unverified caller stores anything. Throws `rate_limited` if its network has stored too much. */
  async admit({ owner, network: from = '', bytes, collections }: UnverifiedWrite): Promise<void> {
    for (let tries = 0; tries < MARK_TRIES_MAX; tries++) {
      const mark = await this.#markOf(owner)
      if (mark === undefined && (await this.#wasAccepted(owner))) return
      if (mark?.isClosed === true) throw refused('no upstream has accepted your credential in time')
      const since = mark?.since ?? (await this.time.read())
      const added = bytes + (mark === undefined ? CALLER_BYTES : 0)
      const draft = {
        owner,
        // That of its first write: otherwise a caller with many addresses would have a limit for each.
        network: mark?.network ?? from,
        bytes: (mark?.bytes ?? 0) + added,
        since,
        collections: [...new Set([...(mark?.collections ?? []), ...collections])],
        isClosed: false,
      }
      const isStored = await this.#sums.within({ owner, network: draft.network, bytes: added }, async () => {
        return (await this.#put(draft, mark?.version ?? 0)) !== undefined
      })
      if (isStored === undefined)
        throw refused('too much is stored from your address with credentials that no upstream has accepted')
      if (isStored) return // otherwise another request was faster
    }
    throw refused('too many requests store something with your credential at once')
  }

  /** What the owner stores is its own from now on: an upstream has accepted the credential. */
  async unmark(owner: string): Promise<void> {
    await this.#documents.remove(MARKS_OWNER, MARKS, owner)
    this.#sums.forget(owner)
  }

  /** Forbids further writes, and returns the new mark. Of several nodes that close the same mark, all but one get undefined. */
  async close(mark: UnverifiedMark): Promise<UnverifiedMark | undefined> {
    return (await this.#isCurrent(mark)) ? this.#put({ ...mark, isClosed: true }, mark.version) : undefined
  }

  /** Removes a mark. Returns false if the owner still has something, which would then count as accepted, or if the mark has changed. */
  async removeEmpty(mark: UnverifiedMark): Promise<boolean> {
    if ((await this.#hasSomething(mark.owner)) || !(await this.#isCurrent(mark))) return false
    await this.unmark(mark.owner)
    return true
  }

  /** All marks, by pages. */
  async *marks(): AsyncGenerator<UnverifiedMark> {
    const query = { collection: MARKS, owner: MARKS_OWNER, ascending: true, limit: PAGE } as const
    let page = await this.#documents.list(query)
    for (;;) {
      await shareEventLoop()
      yield* page.documents.map(markIn)
      if (page.next === undefined) return
      page = await this.#documents.list({ ...query, after: page.next })
    }
  }

  /** An owner that has something without a mark was accepted, by this node or another. */
  async #wasAccepted(owner: string): Promise<boolean> {
    // The mark comes before everything else, so look again for one that was written meanwhile.
    return (await this.#hasSomething(owner)) && (await this.#markOf(owner)) === undefined
  }

  async #hasSomething(owner: string): Promise<boolean> {
    const { runs, documents } = await this.#store.usage.of(owner)
    return runs + documents > 0
  }

  async #markOf(owner: string): Promise<UnverifiedMark | undefined> {
    const document = await this.#documents.get(MARKS_OWNER, MARKS, owner)
    return document && markIn(document)
  }

  /** A mark that was removed and written again may have the same version, but is open. */
  async #isCurrent({ owner, version, isClosed }: UnverifiedMark): Promise<boolean> {
    const current = await this.#markOf(owner)
    return current?.version === version && current.isClosed === isClosed
  }

  async #put(mark: Omit<UnverifiedMark, 'version'>, expected: number): Promise<UnverifiedMark | undefined> {
    const { owner, network, bytes, since, collections, isClosed } = mark
    const body = { bytes, since, collections, isClosed }
    const draft = { owner: MARKS_OWNER, collection: MARKS, id: owner, label: network, body }
    const put = await this.#documents.put(draft, expected)
    return put && markIn(put)
  }
}

function markIn({ id: owner, label: network = '', body, version }: Document): UnverifiedMark {
  const { bytes, since, collections, isClosed } = body as Omit<UnverifiedMark, 'owner' | 'network' | 'version'>
  return { owner, network, bytes, since, collections, isClosed, version }
}

function refused(why: string): HoldfastError {
  return new HoldfastError('rate_limited', `${why}: try again later`, { retryAfterMs: RETRY_MS })
}
