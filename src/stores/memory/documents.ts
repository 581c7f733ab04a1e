/** Documents of the memory store: one map, scanned by every listing. */
import type { Clock } from '../../core/ports/clock.ts'
import {
  type Document,
  type DocumentDraft,
  type DocumentPage,
  type DocumentQuery,
  type Documents,
  sessionDocument,
} from '../../core/model/document.ts'
import type { Run } from '../../core/model/run.ts'
import { laterOf, listDocuments } from '../shared/document-listing.ts'
import type { OwnerTotals } from '../shared/owner-totals.ts'

/** The body is stored as text, so that later changes to the caller's value have no effect here. */
interface StoredDocument extends Omit<Document, 'body'> {
  readonly body: string
}

export class MemoryDocuments implements Documents {
  readonly #clock: Clock
  readonly #totals: OwnerTotals
  readonly #documents = new Map<string, StoredDocument>()

  constructor(clock: Clock, totals: OwnerTotals) {
    this.#clock = clock
    this.#totals = totals
  }

  async get(owner: string, collection: string, id: string): Promise<Document | undefined> {
    const kept = this.#documents.get(keyOf({ owner, collection, id }))
    return kept && toDocument(kept)
  }

  async put(draft: DocumentDraft, expected?: number): Promise<Document | undefined> {
    const before = this.#documents.get(keyOf(draft))
    const version = before?.version ?? 0
    if (expected !== undefined && expected !== version) return undefined
    const now = new Date(this.#clock.now()).toISOString()
    const createdAt = before?.createdAt ?? now
    return toDocument(
      this.#keep({ ...draft, version: version + 1, createdAt, updatedAt: laterOf(before?.updatedAt, now) }),
    )
  }

  async remove(owner: string, collection: string, id: string): Promise<boolean> {
    const key = keyOf({ owner, collection, id })
    const kept = this.#documents.get(key)
    if (kept === undefined) return false
    this.#documents.delete(key)
    this.#totals.add(owner, { documents: -1, documentBytes: -Buffer.byteLength(kept.body) })
    return true
  }

  async list(query: DocumentQuery): Promise<DocumentPage> {
    const { items, ...page } = listDocuments(this.#documents.values(), query)
    return { documents: items.map(toDocument), ...page }
  }

  /**
   * Called when a run is created in a session. Times never move back, even if the run comes from a node whose clock is behind.
   */
  touch(run: Run): void {
    const session = sessionDocument(run)
    const before = this.#documents.get(keyOf(session))
    if (before === undefined) this.#keep(session)
    else this.#documents.set(keyOf(before), { ...before, updatedAt: laterOf(before.updatedAt, run.createdAt) })
  }

  all(): readonly Document[] {
    return [...this.#documents.values()].map(toDocument)
  }

  /** Imports a document with its version and times. False if its name is in use. */
  admit(document: Document): boolean {
    if (this.#documents.has(keyOf(document))) return false
    this.#keep(document)
    return true
  }

  #keep(document: Document): StoredDocument {
    const kept = { ...document, body: JSON.stringify(document.body) }
    const before = this.#documents.get(keyOf(kept))
    this.#totals.add(kept.owner, {
      documents: before === undefined ? 1 : 0,
      documentBytes: Buffer.byteLength(kept.body) - Buffer.byteLength(before?.body ?? ''),
    })
    this.#documents.set(keyOf(kept), kept)
    return kept
  }
}

function keyOf({ owner, collection, id }: Pick<Document, 'owner' | 'collection' | 'id'>): string {
  return JSON.stringify([owner, collection, id])
}

function toDocument({ body, ...rest }: StoredDocument): Document {
  return { ...rest, body: JSON.parse(body) as unknown }
}
