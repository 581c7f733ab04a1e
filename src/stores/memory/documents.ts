/** The documents of the memory store: one map, looked through whole by every listing. */
import type { Clock } from '../../core/clock.ts'
import {
  type Document,
  type DocumentDraft,
  type DocumentPage,
  type DocumentQuery,
  type Documents,
  folded,
  sessionDocument,
} from '../../core/document.ts'
import type { Run } from '../../core/run.ts'

/** The body is kept as text: what a caller does to a value that it gave or got changes nothing here. */
interface Kept extends Omit<Document, 'body'> {
  readonly body: string
}

export class MemoryDocuments implements Documents {
  readonly #clock: Clock
  readonly #kept = new Map<string, Kept>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async get(owner: string, collection: string, id: string): Promise<Document | undefined> {
    const kept = this.#kept.get(keyOf({ owner, collection, id }))
    return kept && opened(kept)
  }

  async put(draft: DocumentDraft, expected?: number): Promise<Document | undefined> {
    const before = this.#kept.get(keyOf(draft))
    const version = before?.version ?? 0
    if (expected !== undefined && expected !== version) return undefined
    const now = new Date(this.#clock.now()).toISOString()
    const createdAt = before?.createdAt ?? now
    return opened(this.#keep({ ...draft, version: version + 1, createdAt, updatedAt: later(before?.updatedAt, now) }))
  }

  async remove(owner: string, collection: string, id: string): Promise<boolean> {
    return this.#kept.delete(keyOf({ owner, collection, id }))
  }

  async list(query: DocumentQuery): Promise<DocumentPage> {
    const { order = 'created', ascending = false, offset = 0, limit } = query
    const time = order === 'created' ? 'createdAt' : 'updatedAt'
    const found = [...this.#kept.values()].filter((kept) => matches(kept, query))
    found.sort((a, b) => compare(a[time], b[time]) || compare(a.id, b.id) || compare(a.owner, b.owner))
    if (!ascending) found.reverse()
    return { documents: found.slice(offset, offset + limit).map(opened), total: found.length }
  }

  /** A run was created in a session. A time never moves back, also when the run comes from a node whose clock is behind. */
  touch(run: Run): void {
    const session = sessionDocument(run)
    const before = this.#kept.get(keyOf(session))
    if (before === undefined) this.#keep(session)
    else this.#kept.set(keyOf(before), { ...before, updatedAt: later(before.updatedAt, run.createdAt) })
  }

  #keep(document: Document): Kept {
    const kept = { ...document, body: JSON.stringify(document.body) }
    this.#kept.set(keyOf(kept), kept)
    return kept
  }
}

function keyOf({ owner, collection, id }: Pick<Document, 'owner' | 'collection' | 'id'>): string {
  return JSON.stringify([owner, collection, id])
}

function opened({ body, ...rest }: Kept): Document {
  return { ...rest, body: JSON.parse(body) as unknown }
}

function later(before: string | undefined, now: string): string {
  return before !== undefined && before > now ? before : now
}

function matches(kept: Kept, { collection, owner, label, title = '' }: DocumentQuery): boolean {
  return (
    kept.collection === collection &&
    (owner === undefined || kept.owner === owner) &&
    (label === undefined || kept.label === label) &&
    folded(kept.title ?? '').includes(folded(title))
  )
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}
